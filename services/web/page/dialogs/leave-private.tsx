import { t } from '../texts/texts.ts'
import { ConfirmRequest } from './confirm-request.tsx'

interface LeavePrivateProps {
  /** The name of the channel. */
  name: string
  onConfirm: () => Promise<unknown>
  onClose: () => void
}

/** Asks before a person leaves a private channel, because they cannot join it again by themselves. */
export const LeavePrivate = ({ name, ...props }: LeavePrivateProps) => (
  <ConfirmRequest
    name={t('Leave channel')}
    question={t('{name} is private. Only somebody who manages it can add you again.', { name })}
    confirmLabel={t('Leave')}
    {...props}
  />
)
