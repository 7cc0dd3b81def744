import { type Client, RequestFailed } from '@parley/client'
import type { Message } from '@parley/contract'
import { signal } from '@preact/signals'
import { attempt } from '../ui/problems.ts'
import { deleteMessage } from './message-actions.ts'

/** The time in which a deletion can be undone. It is short, because others read the message until then. */
const undoMs = 4_000

/** Accepts that somebody else has deleted the message already. Throws all other errors. */
function acceptGone(error: unknown): true {
  if (error instanceof RequestFailed && error.status === 404) return true
  throw error
}

/** A deletion that waits, and can be undone. */
export interface Deletion {
  message: Message
  /** Whether the person has confirmed it with the keyboard. */
  isByKey: boolean
}

export type Deletions = ReturnType<typeof createDeletions>

/**
 * A deleted message disappears immediately, but the request is sent some seconds later. Until then the deletion can be undone. When the
 * person leaves or hides the page, the request is sent immediately. A person who is at the button to undo it, with the pointer or the focus
 * of the keyboard, gets twice as long.
 */
export function createDeletions(client: Client) {
  /** The ids of messages that are not shown any more. */
  const hidden = signal<ReadonlySet<string>>(new Set())
  /** The last deletion that can still be undone. */
  const undoable = signal<Deletion | null>(null)
  /** The button to undo it. */
  const button: { current: HTMLButtonElement | null } = { current: null }
  /** The deletions that wait, by the id of the message. */
  const waiting = new Map<string, { deletion: Deletion; timer: ReturnType<typeof setTimeout> }>()
  const closing = new AbortController()

  const show = (id: string) => {
    hidden.value = new Set([...hidden.value].filter((one) => one !== id))
  }

  /** Sends the deletion later. If the person is at the button to undo it by then, it waits once more. */
  function wait(deletion: Deletion, isAgain = false) {
    const timer = setTimeout(() => {
      const isHeld = undoable.peek() === deletion && button.current?.matches(':hover, :focus-visible')
      if (isHeld && !isAgain) wait(deletion, true)
      else void send(deletion)
    }, undoMs)
    waiting.set(deletion.message.id, { deletion, timer })
  }

  /** Returns whether the deletion was waiting. */
  function endWait(id: string): boolean {
    clearTimeout(waiting.get(id)?.timer)
    if (undoable.value?.message.id === id) undoable.value = null
    return waiting.delete(id)
  }

  async function send({ message }: Deletion, options: { keepalive?: boolean } = {}) {
    if (closing.signal.aborted) return
    endWait(message.id)
    try {
      const deleted = deleteMessage(client, message, { ...options, signal: closing.signal }).catch(acceptGone)
      if (!(await attempt(deleted))) show(message.id)
    } catch (error) {
      if (!closing.signal.aborted) throw error
    }
  }

  return {
    hidden,
    undoable,
    button,
    begin(message: Message) {
      const isByKey = document.activeElement?.matches(':focus-visible') === true
      const deletion = { message, isByKey }
      endWait(message.id)
      hidden.value = new Set([...hidden.value, message.id])
      undoable.value = deletion
      wait(deletion)
    },
    undo(id: string) {
      if (endWait(id)) show(id)
    },
    /** Sends all waiting deletions now. */
    flush: () => Promise.all([...waiting.values()].map(({ deletion }) => send(deletion, { keepalive: true }))),
    /** Cancels all waiting deletions, because the session has ended. */
    close: () => closing.abort(),
  }
}
