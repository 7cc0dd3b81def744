import type { Client } from '@parley/client'
import type { Message } from '@parley/contract'
import { signal } from '@preact/signals'
import { attempt } from '../ui/problems.ts'
import { deleteMessage } from './message-actions.ts'

const undoMs = 3_000

/**
 * A deleted message disappears immediately, but the request is sent some seconds later. Until then the deletion can be undone. When the
 * person leaves the page, the request is sent immediately.
 */
export function createDeletions(client: Client) {
  /** The ids of messages that are not shown any more. */
  const hidden = signal<ReadonlySet<string>>(new Set())
  /** The last deleted message whose deletion can still be undone. */
  const undoable = signal<Message | null>(null)
  /** Functions that send a waiting deletion now, by the id of the message. */
  const waiting = new Map<string, () => Promise<unknown>>()
  const closing = new AbortController()

  const hide = (id: string) => {
    hidden.value = new Set([...hidden.value, id])
  }
  const show = (id: string) => {
    hidden.value = new Set([...hidden.value].filter((one) => one !== id))
  }
  const forget = (id: string) => {
    if (undoable.value?.id === id) undoable.value = null
    return waiting.delete(id)
  }

  return {
    hidden,
    undoable,
    begin(message: Message) {
      const { id } = message
      const carryOut = async (keepalive = false) => {
        clearTimeout(timer)
        if (closing.signal.aborted || !forget(id)) return
        try {
          const done = await attempt(deleteMessage(client, message, { keepalive, signal: closing.signal }))
          if (!done) show(id)
        } catch (error) {
          if (!closing.signal.aborted) throw error
        }
      }
      hide(id)
      undoable.value = message
      const timer = setTimeout(carryOut, undoMs)
      waiting.set(id, () => carryOut(true))
    },
    undo(id: string) {
      if (forget(id)) show(id)
    },
    /** Sends all waiting deletions now. */
    flush: () => Promise.all([...waiting.values()].map((sendNow) => sendNow())),
    /** Cancels all waiting deletions, because the session has ended. */
    close: () => closing.abort(),
  }
}
