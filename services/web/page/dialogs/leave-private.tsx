import { t } from '../texts/texts.ts'
import { Confirm } from '../ui/dialog.tsx'

interface LeavePrivateProps {
  /** The name of the channel. */
  name: string
  onConfirm: () => void
  onClose: () => void
}

/** Asks before a person leaves a private channel, because they cannot join it again by themselves. */
export const LeavePrivate = ({ name, ...props }: LeavePrivateProps) => (
  <Confirm
    name={t('Leave channel')}
    question={t('{name} is private. Only somebody who manages it can add you again.', { name })}
    confirmLabel={t('Leave')}
    {...props}
  />
)
