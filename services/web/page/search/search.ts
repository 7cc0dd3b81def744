import { RequestFailed } from '@parley/client'
import type { Message } from '@parley/contract'
import { findPerson } from '../app/find-person.ts'
import { findNamed } from '../app/names.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { parseQuery, periodOf, type SearchQuery, textOfWords } from './search-query.ts'

export const pageSize = 30

/** Fetches one page of results, newest first, or with `before` the page after that message. @throws RequestFailed with a sentence. */
export async function search(
  workspace: Workspace,
  text: string,
  { before, signal }: { before?: string | undefined; signal?: AbortSignal },
): Promise<Message[]> {
  const { words, filters } = parseQuery(text)
  const q = textOfWords(words)
  if (q === '') throw new RequestFailed(400, t('Say what to search for'))
  const query = {
    q,
    ...periodOf(filters),
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
  return { authorId: /^me$/i.test(from) ? workspace.myId : await findPerson(workspace.client, from) }
}

/** The id of the channel with this name, or of the conversation with the person of this name. */
async function placeOf(workspace: Workspace, { in: name }: SearchQuery['filters']) {
  if (name === undefined) return {}
  const query = { q: name, members: 'false', limit: 50 } as const
  const { channels } = await workspace.client.request('GET /channels', { query })
  const places = [
    ...[...workspace.channels.peek(), ...channels].map((channel) => ({
      name: channel.name,
      filter: { channelId: channel.id },
    })),
    ...workspace.conversations().map(({ id, otherUser }) => ({
      name: otherUser.userName,
      filter: { conversationId: id },
    })),
  ]
  const found = findNamed(places, name, (place) => place.name)
  if (!found) throw new RequestFailed(400, t('No channel is called {name}', { name }))
  return found.filter
}
