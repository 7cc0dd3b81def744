import { mayRead } from '@parley/access'
import { anyOf, foldedText, listMessageIdsBelow, type Reader, selectSearchable } from '@parley/database'
import { sql } from 'kysely'
import type { Hit, Search } from './projection.queries.ts'

/** Those of the given messages that are wanted, judged by what they say now. */
export async function searchThese(snapshot: Reader, search: Search, ids: readonly string[]): Promise<Hit[]> {
  if (ids.length === 0) return []
  const messages = await selectWanted(snapshot, search).where('messages.id', '=', anyOf(ids)).execute()
  return judge(messages, search)
}

export interface Portion {
  hits: Hit[]
  /** Where the next portion begins; null after the last one. */
  below: string | null
}

/** The same for the next messages downwards from an id, by the primary key. */
export async function searchBelow(snapshot: Reader, search: Search, below: string, most: number): Promise<Portion> {
  const ids = await listMessageIdsBelow(snapshot, below, most)
  const hits = await searchThese(snapshot, search, ids)
  return { hits, below: ids.length < most ? null : ids.at(-1)! }
}

function selectWanted(snapshot: Reader, { caller, wanted }: Search) {
  const { channelId, authorId, from, to, before } = wanted
  return selectSearchable(snapshot)
    .where('messages.createdAt', '>=', from)
    .where('messages.createdAt', '<=', to)
    .where(mayRead(caller, 'messages.channelId'))
    .$if(channelId !== undefined, (query) => query.where('messages.channelId', '=', channelId!))
    .$if(authorId !== undefined, (query) =>
      query.where(({ eb, or }) =>
        or([eb('messages.authorId', '=', authorId!), eb('messages.webhookId', '=', authorId!)]),
      ),
    )
    .$if(before !== undefined, (query) =>
      query.where(
        sql<boolean>`(messages.created_at, messages.id) < (${before!.createdAt}::bigint, ${before!.id}::uuid)`,
      ),
    )
}

type Candidates = Awaited<ReturnType<ReturnType<typeof selectWanted>['execute']>>

function judge(messages: Candidates, { wanted, authorIds }: Search): Hit[] {
  const authors = new Set(authorIds)
  return messages.filter(
    (message) =>
      (message.authorId !== null && authors.has(message.authorId)) || foldedText(message).includes(wanted.folded),
  )
}
