import { LoadedDialog } from '../app/loaded-dialog.tsx'
import { createPart } from '../app/part.ts'
import { t } from '../texts/texts.ts'

const part = createPart(() => import('./keyboard-shortcuts.tsx'))

/** The list of keyboard shortcuts. Its code is loaded when it is first opened. */
export const LoadedKeyboardShortcuts = ({ onClose }: { onClose: () => void }) => (
  <LoadedDialog
    name={t('Keyboard shortcuts')}
    part={part}
    onClose={onClose}
    render={({ KeyboardShortcuts }) => <KeyboardShortcuts onClose={onClose} />}
  />
)
