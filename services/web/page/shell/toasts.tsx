import { useEffect } from 'preact/hooks'
import type { Deletion, Deletions } from '../app/deletions.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { isDialogOpen } from '../ui/dialog.tsx'
import { rememberFocus } from '../ui/focus.ts'
import { notice } from '../ui/notice.ts'
import { ProblemList } from '../ui/problem-list.tsx'

/** Errors, short notices, and the button to undo a deletion. Errors stay until the person closes them. */
export function Toasts({ workspace }: { workspace: Workspace }) {
  const { deletions } = workspace
  const { value: deleted } = deletions.undoable
  return (
    <div class="toasts">
      <div role="status">
        {deleted && <Undo key={deleted.message.id} deletions={deletions} deletion={deleted} />}
        {notice.value !== '' && <div class="toast">{notice.value}</div>}
      </div>
      {!isDialogOpen.value && <ProblemList />}
    </div>
  )
}

interface UndoProps {
  deletions: Deletions
  deletion: Deletion
}

/**
 * The button to undo a deletion. It takes the focus of a person with a keyboard, and gives it back at its end. Escape ends it, and the
 * deletion is sent.
 */
function Undo({ deletions, deletion: { message, isByKey } }: UndoProps) {
  const { button } = deletions
  useEffect(() => {
    if (!isByKey) return
    const restoreFocus = rememberFocus()
    button.current!.focus()
    return () => {
      const hasLostFocus = () => document.activeElement === document.body
      if (hasLostFocus()) restoreFocus()
      // The element that had the focus before was removed with the message. Its list has chosen another message.
      if (hasLostFocus()) document.querySelector<HTMLElement>('article[tabindex="0"]')?.focus({ preventScroll: true })
    }
  }, [])
  return (
    <div class="toast">
      <span>{t('Message deleted')}</span>
      <button
        ref={button}
        type="button"
        class="link-button"
        onClick={() => deletions.undo(message.id)}
        onKeyDown={({ key }) => {
          if (key === 'Escape') void deletions.flush()
        }}
      >
        {t('Undo')}
      </button>
    </div>
  )
}
