import type { OutboxEntry } from '@parley/client'
import type { Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { useStable } from '../ui/stable.ts'

interface EditingOptions {
  messages: readonly Message[] | undefined
  /** The messages that are not sent yet. */
  outbox: readonly OutboxEntry[]
  /** The text box below the messages. */
  box: { current: HTMLTextAreaElement | null }
}

/** Which message of a channel or thread is being edited. */
export function useEditing({ myId, deletions, edits }: Workspace, { messages, outbox, box }: EditingOptions) {
  const editing = useSignal<{ id: string | undefined; isResumed?: boolean }>({ id: undefined })
  /** Begins to edit a message, or with undefined ends the editing. */
  const edit = (id: string | undefined) => {
    editing.value = { id }
  }
  /** The message of the outbox that will be edited when it is sent, and the id of the newest own message before it. */
  const awaited = useRef<{ entryId: string; previousId: string | undefined } | undefined>(undefined)
  /** The id of the newest own message that is not being deleted. */
  const lastOwnId = () =>
    messages?.findLast(({ id, author }) => author.id === myId && !deletions.hidden.peek().has(id))?.id

  useLayoutEffect(() => {
    const { current } = awaited
    const newestEntry = outbox.at(-1)
    if (!current || newestEntry?.id === current.entryId) return
    const id = lastOwnId()
    // The message is sent, and will be in the list in a moment.
    if (!newestEntry && id === current.previousId) return
    awaited.current = undefined
    // A person who has typed something, sent a message or moved the focus does not want to edit any more.
    const isWaiting = !newestEntry && document.activeElement === box.current && box.current!.value === ''
    if (isWaiting) edit(id)
  }, [messages, outbox])

  useLayoutEffect(() => {
    const { interrupted, textOf } = edits
    // Another tab may have saved or cancelled an edit meanwhile.
    const resumed = messages?.findLast(({ id }) => interrupted.has(id) && textOf(id) !== undefined)
    if (!resumed) return
    interrupted.delete(resumed.id)
    editing.value = { id: resumed.id, isResumed: true }
  }, [!messages])

  return {
    id: editing.value.id,
    /** Whether the editor has opened by itself. Then it does not take the focus. */
    isResumed: editing.value.isResumed,
    edit,
    /** Edits the newest own message. While it is being sent, this waits until the server has it. */
    editLast: useStable(() => {
      const sending = outbox.findLast(({ state }) => state !== 'failed')
      awaited.current = sending && { entryId: sending.id, previousId: lastOwnId() }
      if (!sending) edit(lastOwnId())
    }),
  }
}
