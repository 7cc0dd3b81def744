import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { followDraft, readDraft, storeDraft } from '../app/drafts.ts'
import type { Workspace } from '../app/workspace.ts'
import { reportStorageFailure } from '../ui/problems.ts'

export type Draft = ReturnType<typeof useDraft>

/**
 * The stored text of a text box. While this page does not have the focus, the box follows what the person types in another tab. `onFollowed`
 * is called then.
 */
export function useDraft(
  { myId, files }: Workspace,
  destinationId: string,
  box: RefObject<HTMLTextAreaElement | null>,
  onFollowed: () => void,
) {
  /** What was typed in another tab while a message waits for its files here. It belongs to the next message. */
  const typedElsewhere = useRef('')
  useEffect(
    () =>
      followDraft(myId, destinationId, (text) => {
        if (files.isWaiting(destinationId)) {
          typedElsewhere.current = text
        } else if (!document.hasFocus()) {
          box.current!.value = text
          onFollowed()
        }
      }),
    [destinationId],
  )

  return {
    typedElsewhere: () => typedElsewhere.current,
    read: () => readDraft(myId, destinationId),
    store(text: string) {
      typedElsewhere.current = ''
      try {
        storeDraft(myId, destinationId, text)
      } catch (error) {
        reportStorageFailure(error)
      }
    },
  }
}
