import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Channel, Conversation, Message, User } from '@parley/contract'
import { connectDatabase } from '@parley/database'
import type { HttpResponse, Person } from '@parley/test'
import { sql } from 'kysely'
import type { Installation } from '../src/launch.ts'
import type { Final, StoredMessage } from './check-storage.ts'

/** The final state after all operations: the listings of the API, and the rows of PostgreSQL. */
export async function readFinal(installation: Installation, root: Person, people: readonly Person[]): Promise<Final> {
  const channels: Channel[] = (await ok(root.get('/channels'))).channels
  const everybody: User[] = (await ok(root.get('/users'))).users
  const users = everybody.filter(({ isActive }) => isActive)
  const listed = new Map<string, Message[]>()
  const replies = new Map<string, Message[]>()
  for (const { id } of channels) listed.set(id, await root.readsAll(`/channels/${id}/messages`))
  for (const messages of [...listed.values()]) {
    for (const { id, threadMeta } of messages) {
      if (threadMeta) replies.set(id, await root.readsAll(`/messages/${id}/thread`, 'replies'))
    }
  }
  for (const person of people) {
    const { conversations } = (await ok(person.get('/conversations'))) as { conversations: Conversation[] }
    for (const { id } of conversations) {
      if (!listed.has(id)) listed.set(id, await person.readsAll(`/conversations/${id}/messages`))
    }
  }
  return { channels, users, listed, replies, ...(await readRows(installation)) }
}

async function ok(response: Promise<HttpResponse>): Promise<HttpResponse['body']> {
  const { status, body } = await response
  if (status !== 200) throw new Error(`the end cannot be read: ${status} ${JSON.stringify(body)}`)
  return body
}

/** Reads PostgreSQL directly, because listings do not show duplicates and deleted messages. */
async function readRows({ directory }: Installation): Promise<Pick<Final, 'stored' | 'lastSeq'>> {
  const [password, port] = await Promise.all(
    ['password', 'port'].map((file) => readFile(path.join(directory, 'postgres', file), 'utf8')),
  )
  const url = `postgres://parley:${password!.trim()}@127.0.0.1:${port!.trim()}/parley`
  const { db, close } = connectDatabase({ url, poolSize: 1, applicationName: 'parley-history', onIdleError: () => {} })
  try {
    const { rows: stored } = await sql<StoredMessage>`
      select m.id::text, case when c.kind = 'direct' then 'dm:' else '' end || c.id as place, m.thread_id::text as parent,
        m.seq, m.content, m.deleted_at is not null as "isDeleted"
      from messages m join channels c on c.id = m.channel_id where c.deleted_at is null`.execute(db)
    const { rows: last } = await sql<{ place: string; seq: number }>`
      select case when kind = 'direct' then 'dm:' else '' end || id as place, last_seq as seq
      from channels where deleted_at is null`.execute(db)
    return { stored, lastSeq: new Map(last.map(({ place, seq }) => [place, seq])) }
  } finally {
    await close()
  }
}
