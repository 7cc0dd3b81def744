import { RequestFailed } from '@parley/client'
import type { Message } from '@parley/contract'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { parseQuery, type SearchQuery, timesOf } from './search-query.ts'

export const pageSize = 30

/** Fetches one page of results, newest first, or with `before` the page after that message. @throws RequestFailed with a sentence. */
export async function search(
  workspace: Workspace,
  text: string,
  { before, signal }: { before?: string | undefined; signal?: AbortSignal },
): Promise<Message[]> {
  const { words, filters } = parseQuery(text)
  if (words === '') throw new RequestFailed(400, t('Say what to search for'))
  const query = {
    q: words,
    ...timesOf(filters),
    ...(await authorOf(workspace, filters)),
    ...(await placeOf(workspace, filters)),
    ...(before !== undefined && { before }),
    limit: pageSize,
  }
  const { messages } = await workspace.client.request('GET /search/messages', { query, ...(signal && { signal }) })
  return messages
}

async function authorOf(workspace: Workspace, { from }: SearchQuery['filters']) {
  if (from === undefined) return {}
  const id = /^me$/i.test(from) ? workspace.myId : await findPerson(workspace, from)
  if (id === undefined) throw new RequestFailed(400, t('Nobody is called {name}', { name: from }))
  return { authorId: id }
}

/** The id of the channel with this name, or of the conversation with the person of this name. */
async function placeOf(workspace: Workspace, { in: name }: SearchQuery['filters']) {
  if (name === undefined) return {}
  const isNamed = (each: { name: string }) => each.name.toLowerCase() === name.toLowerCase()
  const { client } = workspace
  const joined = workspace.channels.peek().find(isNamed)
  if (joined) return { channelId: joined.id }
  const query = { q: name, members: 'false', limit: 50 } as const
  const { channels } = await client.request('GET /channels', { query })
  const found = channels.find(isNamed)
  if (found) return { channelId: found.id }
  const conversation = workspace
    .conversations()
    .find(({ otherUser }) => otherUser.userName.toLowerCase() === name.toLowerCase())
  if (conversation) return { conversationId: conversation.id }
  throw new RequestFailed(400, t('No channel is called {name}', { name }))
}

async function findPerson({ client }: Workspace, name: string): Promise<string | undefined> {
  const { users } = await client.request('GET /users', { query: { q: name, limit: 50 } })
  const wanted = name.toLowerCase()
  const named = users.find(({ userName, email }) => userName.toLowerCase() === wanted || email === wanted)
  // A part of the name is enough when only one person has it.
  return (named ?? (users.length === 1 ? users[0] : undefined))?.id
}
