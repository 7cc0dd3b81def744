import { useEffect, useRef } from 'preact/hooks'
import { readDraft } from '../app/drafts.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { UnsavedEdits, UnsentText } from './unsent-text.tsx'

interface MissingThreadProps {
  workspace: Workspace
  parentId: string
}

/** Shown instead of the text box of a thread whose message was deleted, or which the person may not read. */
export function MissingThread({ workspace, parentId }: MissingThreadProps) {
  const sentence = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    // The text box that had the focus was removed.
    if (document.activeElement === document.body) sentence.current!.focus()
  }, [])
  return (
    <div class="empty">
      <p ref={sentence} tabIndex={-1}>
        {t('This message is not available')}
      </p>
      <UnsentText text={readDraft(workspace.myId, parentId)} />
      <UnsavedEdits workspace={workspace} isWanted={({ threadId }) => threadId === parentId} />
    </div>
  )
}
