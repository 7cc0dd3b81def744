import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { isDialogOpen } from '../ui/dialog.tsx'
import { passFocus } from '../ui/focus.ts'
import { ProblemList } from '../ui/problem-list.tsx'
import { notice } from '../ui/problems.ts'

/** Errors, short notices, and the button to undo a deletion. Errors stay until the person closes them. */
export function Toasts({ workspace }: { workspace: Workspace }) {
  const { deletions } = workspace
  const { value: deleted } = deletions.undoable
  return (
    <div class="toasts">
      <div role="status">
        {deleted && (
          <div ref={passFocus} class="toast">
            <span>{t('Message deleted')}</span>
            <button type="button" class="link-button" onClick={() => deletions.undo(deleted.id)}>
              {t('Undo')}
            </button>
          </div>
        )}
        {notice.value !== '' && <div class="toast">{notice.value}</div>}
      </div>
      {!isDialogOpen.value && <ProblemList />}
    </div>
  )
}
