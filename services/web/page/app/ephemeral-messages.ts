import type { EphemeralMessage, WireEvent } from '@parley/contract'
import { signal } from '@preact/signals'
import { serverText } from '../texts/texts.ts'

/** The messages that only this person sees, such as the answers to commands. A reload of the page forgets them. */
export function createEphemeralMessages() {
  const messages = signal<readonly EphemeralMessage[]>([])
  /**
   * The newest received `updatedAt` of each message, by id. A replacement of a message comes twice, as an event and in a response, and a
   * newer replacement may come between the two.
   */
  const changedAt = new Map<string, number>()
  /** The messages that the person has dismissed: the `updatedAt` of that version, by id. Its response may come later. */
  const dismissedAt = new Map<string, EphemeralMessage['updatedAt']>()

  function receive(message: EphemeralMessage) {
    const { id, updatedAt } = message
    if (dismissedAt.has(id) && dismissedAt.get(id) === updatedAt) return
    const isKnown = messages.value.some((each) => each.id === id)
    // A server of the previous version does not send `updatedAt`.
    if (updatedAt == null) {
      if (!isKnown && !changedAt.has(id)) messages.value = [...messages.value, message]
      return
    }
    if (updatedAt < (changedAt.get(id) ?? 0)) return
    changedAt.set(id, updatedAt)
    if (isRemoval(message)) remove(id)
    else if (isKnown) messages.value = messages.value.map((each) => (each.id === id ? message : each))
    else messages.value = [...messages.value, message]
  }

  function remove(id: string) {
    messages.value = messages.value.filter((message) => message.id !== id)
  }

  return {
    receive,
    apply({ type, payload }: WireEvent) {
      if (type === 'EPHEMERAL_MESSAGE') receive(payload)
    },
    /** The messages of a channel or conversation that the person has not dismissed. */
    of: (channelId: string) => messages.value.filter((message) => message.channelId === channelId),
    dismiss({ id, updatedAt }: EphemeralMessage) {
      dismissedAt.set(id, updatedAt)
      remove(id)
    },
  }
}

/** Whether the app removes its earlier message by replacing it with an empty one. */
export const isRemoval = ({ content, blocks }: EphemeralMessage) => content === '' && blocks.length === 0

/** The text of a message. The answers of the server's own commands are in the language of the page. */
export const textOfMessage = ({ author, content }: Pick<EphemeralMessage, 'author' | 'content'>) =>
  author.id === 'server' ? serverText(content) : content
