import type { Client, ResponseOf } from '@parley/client'
import type { Message } from '@parley/contract'
import { spellingsOf } from '../emoji/spellings.ts'

/** The client of the signed-in person, and their id. */
interface Actor {
  client: Client
  myId: string
}

/** Adds the reaction of the signed-in person, in the spelling that the message has already, or removes it in all its spellings. */
export async function toggleReaction({ client, myId }: Actor, { id, reactions }: Message, reaction: string) {
  const inputOf = (spelling: string) => ({ params: { messageId: id }, body: { reaction: spelling } })
  const spellings = spellingsOf(reactions, reaction)
  const mine = spellings.filter((spelling) => reactions[spelling]!.includes(myId))
  let removed: ResponseOf<'DELETE /messages/:messageId/reactions'> | undefined
  for (const spelling of mine) {
    removed = await client.request('DELETE /messages/:messageId/reactions', inputOf(spelling))
  }
  return removed ?? client.request('POST /messages/:messageId/reactions', inputOf(spellings[0] ?? reaction))
}

export function togglePin({ client }: Actor, { id, pinnedAt }: Message) {
  const input = { params: { messageId: id } }
  return pinnedAt === null
    ? client.request('POST /messages/:messageId/pin', input)
    : client.request('DELETE /messages/:messageId/pin', input)
}

/** Saves a message for later, or no longer. */
export const saveMessage = ({ client }: Actor, { id }: Message, isSaved: boolean) =>
  client.request('PUT /messages/:messageId/saved', { params: { messageId: id }, body: { isSaved } })

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
