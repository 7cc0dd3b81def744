import { anyOf, type Database, lockByName } from '@parley/database'
import type { Cursor } from '@parley/events'
import { sql } from 'kysely'

interface ConsumerKey {
  userId: string
  name: string
}

/** The largest number of consumers of one bot. Further ones would only delay the emptying of the outbox. */
export const maxConsumers = 20

/**
 * Stores the consumer's new stream, which ends the previous one, and returns the position of the consumer. A new
 * consumer begins at `now`. Undefined when the bot has too many consumers already. The claims of one bot wait for each
 * other, because each counts its consumers. All queries in this file are served by the primary key.
 */
export const claimConsumer = (
  db: Database,
  { userId, name }: ConsumerKey,
  streamId: string,
  now: Cursor & { at: number },
): Promise<Cursor | undefined> =>
  db.transaction().execute(async (trx) => {
    await lockByName(trx, `consumers of ${userId}`)
    const { rows } = await sql<Cursor>`
      insert into consumers (user_id, name, epoch, pos, created_at, updated_at, stream_id)
      select ${userId}::uuid, ${name}::text, ${now.epoch}::text, ${now.pos}::bigint, ${now.at}::bigint, ${now.at}::bigint, ${streamId}::uuid
      where exists (select from consumers where user_id = ${userId} and name = ${name})
        or (select count(*) from consumers where user_id = ${userId}) < ${maxConsumers}
      on conflict (user_id, name) do update set stream_id = excluded.stream_id
      returning epoch, pos`.execute(trx)
    return rows[0]
  })

export interface Consumer extends Cursor {
  name: string
  createdAt: number
  updatedAt: number
}

export const listConsumers = (db: Database, userId: string): Promise<Consumer[]> =>
  db
    .selectFrom('consumers')
    .select(['name', 'epoch', 'pos', 'createdAt', 'updatedAt'])
    .where('userId', '=', userId)
    .orderBy('name')
    .execute()

/** A position never moves back, unless a new epoch has begun. Undefined when there is no such consumer. */
export async function updateConsumer(
  db: Database,
  { userId, name }: ConsumerKey,
  { epoch, pos }: Cursor,
  now: number,
): Promise<Consumer | undefined> {
  const { rows } = await sql<Consumer>`
    update consumers set epoch = ${epoch}, updated_at = ${now},
      pos = case when epoch = ${epoch} then greatest(pos, ${pos}::bigint) else ${pos}::bigint end
    where user_id = ${userId} and name = ${name}
    returning name, epoch, pos, created_at, updated_at`.execute(db)
  return rows[0]
}

export async function deleteConsumer(db: Database, { userId, name }: ConsumerKey): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('consumers')
    .where('userId', '=', userId)
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

export const isBot = async (db: Database, userId: string): Promise<boolean> =>
  (await db.selectFrom('users').select('isBot').where('id', '=', userId).executeTakeFirst())?.isBot === true

/** The ids of those of these streams that are still the newest ones of their consumers. */
export async function findCurrent(db: Database, userIds: readonly string[], streamIds: readonly string[]) {
  const rows = await db
    .selectFrom('consumers')
    .select('streamId')
    .where('userId', '=', anyOf(userIds))
    .where('streamId', '=', anyOf(streamIds))
    .execute()
  return new Set(rows.map(({ streamId }) => streamId))
}
