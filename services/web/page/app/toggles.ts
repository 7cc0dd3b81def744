import type { Message } from '@parley/contract'
import { attempt } from '../ui/problems.ts'
import { dropOldest } from './drop-oldest.ts'

/** The number of messages whose toggles are kept. An older one is shown as the page knows it. */
const maxMessages = 100

/** The response to a toggle. If it has the message, that is the version of the message with the change. */
type Changed = { message?: Message; isSaved?: boolean }

interface Toggle {
  isOn: boolean
  /** The message with this turned on or off. */
  show: (message: Message, isOn: boolean) => Message
  send: (isOn: boolean) => Promise<Changed>
}

interface Wish extends Toggle {
  /** The version of the message that has the change. It is infinite until the response. */
  rev: number
  sending?: Promise<Changed | undefined>
  /** What the server has responded to last. */
  acknowledged?: Wish | undefined
}

export type Toggles = ReturnType<typeof createToggles>

/**
 * What the person turns on and off on messages: their reactions, the pin, and whether a message is saved. It is shown at once, on all
 * versions of the message that are older than the response. After a failure the error is shown, and what the server has responded before.
 * `onChanged` is called with the id of a message that is shown differently now.
 */
export function createToggles(ended: AbortSignal, onChanged: (messageId: string) => void) {
  /** By the id of the message, and by the name of the toggle. */
  const all = new Map<string, Map<string, Wish>>()
  /** Whether messages are saved, as the server has said last. `watchSaved` finds most of them. */
  const saved = new Map<string, boolean | undefined>()

  async function sendLast(wish: Wish): Promise<Changed | undefined> {
    const { show, send } = wish
    for (;;) {
      const { isOn } = wish
      const changed = await attempt(send(isOn))
      if (changed?.message) wish.acknowledged = { isOn, show, send, rev: changed.message.rev }
      if (wish.isOn === isOn || ended.aborted) return changed
    }
  }

  return {
    /** The message as the person wants it. */
    shown(message: Message): Message {
      let shown = message
      for (const { rev, show, isOn } of all.get(message.id)?.values() ?? []) {
        if (message.rev < rev) shown = show(shown, isOn)
      }
      return shown
    },
    saved,
    /** Undefined when it is not known any more. */
    setSaved(messageId: string, isSaved: boolean | undefined) {
      if (saved.get(messageId) === isSaved) return
      saved.set(messageId, isSaved)
      onChanged(messageId)
    },
    /** Whether the person wants the message to be saved, or else what the server has said. Undefined when that is not known. */
    isSaved: (messageId: string) => all.get(messageId)?.get('saved')?.isOn ?? saved.get(messageId),
    /**
     * Turns something on or off. Each toggle sends one request at a time. If the person has changed their mind before the response, another
     * request follows. Resolves with the last response, or with undefined after a failure.
     */
    async set(messageId: string, name: string, toggle: Toggle): Promise<Changed | undefined> {
      const wishes = all.get(messageId) ?? new Map<string, Wish>()
      const before = wishes.get(name)
      if (before?.rev === Infinity) {
        before.isOn = toggle.isOn
        onChanged(messageId)
        return before.sending
      }
      const wish: Wish = { ...toggle, rev: Infinity, acknowledged: before }
      wishes.set(name, wish)
      all.set(messageId, wishes)
      dropOldest(all, maxMessages)
      onChanged(messageId)
      wish.sending = sendLast(wish)
      const changed = await wish.sending
      if (wish.acknowledged) wishes.set(name, wish.acknowledged)
      else wishes.delete(name)
      onChanged(messageId)
      return changed
    },
  }
}
