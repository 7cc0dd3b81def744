import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { draftIdOf, followDraft, readDraft, storeDraft } from '../app/drafts.ts'
import type { Workspace } from '../app/workspace.ts'

export type Draft = ReturnType<typeof useDraft>

interface DraftOptions {
  workspace: Workspace
  channelId: string
  threadId?: string
}

/**
 * The stored text of a text box. While this page does not have the focus, the box follows what the person types in another tab. `onFollowed`
 * is called then.
 */
export function useDraft(
  { workspace: { myId, files }, channelId, threadId }: DraftOptions,
  box: RefObject<HTMLTextAreaElement | null>,
  onFollowed: () => void,
) {
  const draftId = draftIdOf(channelId, threadId)
  /** What was typed in another tab while a message waits for its files here. It belongs to the next message. */
  const typedElsewhere = useRef('')
  useEffect(
    () =>
      followDraft(myId, draftId, (text) => {
        if (files.isWaiting(threadId ?? channelId)) {
          typedElsewhere.current = text
        } else if (!document.hasFocus()) {
          box.current!.value = text
          onFollowed()
        }
      }),
    [draftId],
  )

  return {
    typedElsewhere: () => typedElsewhere.current,
    read: () => readDraft(myId, draftId),
    store(text: string) {
      typedElsewhere.current = ''
      storeDraft(myId, draftId, text)
    },
  }
}
