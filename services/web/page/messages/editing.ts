import type { OutboxEntry } from '@parley/client'
import type { Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { useStable } from '../ui/stable.ts'

interface EditingOptions {
  messages: readonly Message[] | undefined
  unsent: readonly OutboxEntry[]
  /** The text box below the messages. */
  box: { current: HTMLTextAreaElement | null }
}

/** Which message of a channel or thread is being edited. */
export function useEditing({ myId, deletions }: Workspace, { messages, unsent, box }: EditingOptions) {
  const editedId = useSignal<string | undefined>(undefined)
  /** The unsent message that will be edited when it is sent, and the id of the newest own message before it. */
  const awaited = useRef<{ unsentId: string; previousId: string | undefined } | undefined>(undefined)
  /** The id of the newest own message that is not being deleted. */
  const lastOwnId = () =>
    messages?.findLast(({ id, author }) => author.id === myId && !deletions.hidden.peek().has(id))?.id

  useLayoutEffect(() => {
    const { current } = awaited
    const newestUnsent = unsent.at(-1)
    if (!current || newestUnsent?.id === current.unsentId) return
    const id = lastOwnId()
    // The message is sent, and will be in the list in a moment.
    if (!newestUnsent && id === current.previousId) return
    awaited.current = undefined
    // Otherwise the person has done something else meanwhile.
    const isWaiting = !newestUnsent && document.activeElement === box.current && box.current!.value === ''
    if (isWaiting) editedId.value = id
  }, [messages, unsent])

  return {
    editedId: editedId.value,
    edit: (id: string | undefined) => {
      editedId.value = id
    },
    /** Edits the newest own message. While it is being sent, this waits until the server has it. */
    editLast: useStable(() => {
      const sending = unsent.findLast(({ state }) => state !== 'failed')
      awaited.current = sending && { unsentId: sending.id, previousId: lastOwnId() }
      if (!sending) editedId.value = lastOwnId()
    }),
  }
}
