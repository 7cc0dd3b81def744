import { type Client, RequestFailed } from '@parley/client'
import type { Message } from '@parley/contract'
import { signal } from '@preact/signals'
import { attempt } from '../ui/problems.ts'
import { deleteMessage } from './message-actions.ts'

/** The time in which a deletion can be undone. It is short, because others read the message until then. */
const undoMs = 4_000
/** A person who is at the button to undo it gets this many times as long. */
const maxHeldTimes = 2

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
 * person leaves or hides the page, the request is sent immediately. It waits longer while the pointer or the focus of the keyboard is on the
 * button to undo it.
 */
export function createDeletions(client: Client) {
  /** The ids of messages that are not shown any more. */
  const hidden = signal<ReadonlySet<string>>(new Set())
  /** The last deletion that can still be undone. */
  const undoable = signal<Deletion | null>(null)
  /** The button to undo it. */
  const button: { current: HTMLButtonElement | null } = { current: null }
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
    if (undoable.value?.message.id === id) undoable.value = null
    return waiting.delete(id)
  }

  return {
    hidden,
    undoable,
    button,
    begin(message: Message) {
      const { id } = message
      const deletion = { message, isByKey: document.activeElement?.matches(':focus-visible') === true }
      let timer: ReturnType<typeof setTimeout> | undefined
      let times = 0
      const wait = () => {
        timer = setTimeout(onTime, undoMs)
      }
      const onTime = () => {
        const isHeld = undoable.peek() === deletion && button.current?.matches(':hover, :focus-visible')
        if (isHeld && ++times < maxHeldTimes) wait()
        else void send()
      }
      const send = async (options: { keepalive?: boolean } = {}) => {
        clearTimeout(timer)
        // The person has undone it, and may have deleted the message again.
        if (closing.signal.aborted || waiting.get(id) !== sendNow) return
        forget(id)
        try {
          const deleted = deleteMessage(client, message, { ...options, signal: closing.signal }).catch(acceptGone)
          if (!(await attempt(deleted))) show(id)
        } catch (error) {
          if (!closing.signal.aborted) throw error
        }
      }
      const sendNow = () => send({ keepalive: true })
      hide(id)
      undoable.value = deletion
      waiting.set(id, sendNow)
      wait()
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
