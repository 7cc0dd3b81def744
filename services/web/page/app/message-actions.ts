import type { Client } from '@parley/client'
import type { Message } from '@parley/contract'
import { plainEmoji, spellingsOf, withReaction } from '../emoji/spellings.ts'
import type { Toggles } from './toggles.ts'

/** The client of the signed-in person, their id, and what they turn on and off. */
interface Actor {
  client: Client
  myId: string
  toggles: Toggles
}

/** Adds the reaction of the signed-in person, in the spelling that the message has already, or removes it in all its spellings. */
export function toggleReaction({ client, myId, toggles }: Actor, message: Message, emoji: string) {
  const { id, reactions } = toggles.shown(message)
  const spellings = spellingsOf(reactions, emoji)
  const mine = spellings.filter((spelling) => reactions[spelling]!.includes(myId))
  const [spelling = emoji, ...others] = mine.length > 0 ? mine : spellings.slice(0, 1)
  const inputOf = (reaction: string) => ({ params: { messageId: id }, body: { reaction } })
  return toggles.set(id, `reaction ${plainEmoji(emoji)}`, {
    isOn: mine.length === 0,
    show: (shown, isOn) => ({ ...shown, reactions: withReaction(shown.reactions, emoji, myId, isOn) }),
    async send(isOn) {
      if (isOn) return client.request('POST /messages/:messageId/reactions', inputOf(spelling))
      for (const other of others) await client.request('DELETE /messages/:messageId/reactions', inputOf(other))
      return client.request('DELETE /messages/:messageId/reactions', inputOf(spelling))
    },
  })
}

export function pinMessage({ client, toggles }: Actor, { id }: Message, isOn: boolean) {
  const input = { params: { messageId: id } }
  return toggles.set(id, 'pin', {
    isOn,
    show: (shown, isPinned) => ({ ...shown, pinnedAt: isPinned ? Date.now() : null }),
    send: (isPinned) =>
      isPinned
        ? client.request('POST /messages/:messageId/pin', input)
        : client.request('DELETE /messages/:messageId/pin', input),
  })
}

/** Saves a message for later, or no longer. */
export const saveMessage = ({ client, toggles }: Actor, { id }: Message, isOn: boolean) =>
  toggles.set(id, 'saved', {
    isOn,
    show: (shown) => shown,
    async send(isOn) {
      const input = { params: { messageId: id }, body: { isSaved: isOn } }
      const response = await client.request('PUT /messages/:messageId/saved', input)
      toggles.setSaved(id, response.isSaved)
      return response
    },
  })

/** Deletes a message or a reply. With `keepalive` the request continues after the page is closed. `signal` aborts it. */
export const deleteMessage = (
  client: Client,
  { id }: Message,
  options: { keepalive?: boolean; signal?: AbortSignal },
) => client.request('DELETE /messages/:messageId', { params: { messageId: id }, ...options })

/** Changes the text of a message or a reply. Its files stay. */
export function editMessage({ client }: Actor, { id, images, attachments }: Message, content: string) {
  const hasFiles = images.length + attachments.length > 0
  // The server accepts an empty text only together with files.
  const files = { images, attachments: attachments.map(({ filename }) => ({ filename })) }
  const body = { content, ...(content === '' && hasFiles && files) }
  return client.request('PUT /messages/:messageId', { params: { messageId: id }, body })
}
