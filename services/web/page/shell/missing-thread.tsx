import { useEffect, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { UnsavedEdits, UnsentDraft } from './unsent-text.tsx'

interface MissingThreadProps {
  workspace: Workspace
  channelId: string
  parentId: string
}

/** Shown instead of the text box of a thread whose message was deleted, or which the person may not read. */
export function MissingThread({ workspace, channelId, parentId }: MissingThreadProps) {
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
      <UnsentDraft workspace={workspace} channelId={channelId} threadId={parentId} />
      <UnsavedEdits workspace={workspace} isWanted={({ threadId }) => threadId === parentId} />
    </div>
  )
}
