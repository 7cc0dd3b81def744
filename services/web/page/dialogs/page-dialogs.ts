import { KeyboardShortcuts } from './keyboard-shortcuts.tsx'
import { MarkAllRead } from './mark-all-read.tsx'
import { SetStatus } from './set-status.tsx'

/** Dialogs of the whole page that are loaded when one of them is first opened, by their `OpenDialog`. */
export const pageDialogs = { shortcuts: KeyboardShortcuts, read: MarkAllRead, status: SetStatus }
