import { canReadById } from '@parley/access'
import type { Reader } from '@parley/database'
import { foldMessage, listMessageIdsBelow, selectSearchable } from '@parley/search'
import { sql } from 'kysely'
import type { Hit, Search } from './projection.queries.ts'

/** Those of the given messages that are wanted, judged by what they say now. */
export async function searchThese(snapshot: Reader, search: Search, ids: readonly string[]): Promise<Hit[]> {
  if (ids.length === 0) return []
  // As one text: a list of so many ids takes the driver longer to write than PostgreSQL to read.
  const wanted = sql<string>`any(string_to_array(${ids.join(',')}, ',')::uuid[])`
  const messages = await selectWanted(snapshot, search).where('messages.id', '=', wanted).execute()
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

function selectWanted(snapshot: Reader, search: Search) {
  const { caller, wanted } = search
  const { channelId, authorId, from, to, before } = wanted
  return selectSearchable(snapshot)
    .where('messages.createdAt', '>=', from)
    .where('messages.createdAt', '<=', to)
    .where(mayMatch(search))
    .where(canReadById('messages.channelId', caller))
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

/**
 * Leaves out what certainly does not match, so that of hundreds of thousands of messages few have to be fetched and folded: a text of
 * ASCII characters is folded as soon as it is lower-case. Whatever else a message has is judged here.
 */
const mayMatch = ({ wanted, authorIds }: Search) => sql<boolean>`(
  strpos(lower(messages.content collate "C"), ${wanted.folded}) > 0 or octet_length(messages.content) <> length(messages.content)
  or messages.attachments is not null or messages.webhook_id is not null
  or messages.author_id in (select unnest(${authorIds}::uuid[])))`

type Candidates = Awaited<ReturnType<ReturnType<typeof selectWanted>['execute']>>

function judge(messages: Candidates, { wanted, authorIds }: Search): Hit[] {
  const authors = new Set(authorIds)
  return messages.filter(
    (message) =>
      (message.authorId !== null && authors.has(message.authorId)) || foldMessage(message).includes(wanted.folded),
  )
}
