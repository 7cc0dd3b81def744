import {
  anyOf,
  type Database,
  isActive,
  lockByName,
  type Reader,
  type SubscriptionDeliveryRow,
  type SubscriptionRow,
  type Transaction,
} from '@parley/database'
import { sql } from 'kysely'

/** Subscriptions that exist. Those of a removed bot count as deleted, and the worker deletes them later. */
const selectLive = (db: Reader) =>
  db
    .selectFrom('subscriptions')
    .selectAll('subscriptions')
    .where('deletedAt', 'is', null)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('users')
          .select('users.id')
          .whereRef('users.id', '=', 'subscriptions.botId')
          .where('users.removedAt', 'is', null),
      ),
    )

/** The subscriptions of a bot, or all of them for `null`, oldest first. */
export const listSubscriptions = (db: Reader, botId: string | null): Promise<SubscriptionRow[]> =>
  selectLive(db)
    .$if(botId !== null, (query) => query.where('botId', '=', botId))
    .orderBy('id')
    .execute()

/** Locks the list of a bot's subscriptions: until the transaction ends, no other transaction adds one. */
export const lockListOf = (trx: Transaction, botId: string) => lockByName(trx, `subscriptions of ${botId}`)

/** Served by the primary key. */
export const findSubscription = (db: Reader, id: string): Promise<SubscriptionRow | undefined> =>
  selectLive(db).where('id', '=', id).executeTakeFirst()

export const lockSubscription = (trx: Transaction, id: string): Promise<SubscriptionRow | undefined> =>
  selectLive(trx).where('id', '=', id).forUpdate().executeTakeFirst()

export type ChangedSubscription = SubscriptionRow & { sealedSigningSecret: string | null }

/**
 * The subscriptions that changed since this moment, also deleted ones, and those in Slack's format whose bot got another signing secret
 * since then. Served by subscriptions_changed. The table apps is small.
 */
export async function findChanged(db: Reader, since: number): Promise<ChangedSubscription[]> {
  const rotated = await db.selectFrom('apps').select('botId').where('updatedAt', '>=', since).execute()
  return db
    .selectFrom('subscriptions')
    .leftJoin('apps', 'apps.botId', 'subscriptions.botId')
    .selectAll('subscriptions')
    .select('apps.sealedSigningSecret')
    .where(({ eb, or, and }) =>
      rotated.length === 0
        ? eb('subscriptions.updatedAt', '>=', since)
        : or([
            eb('subscriptions.updatedAt', '>=', since),
            and([eb('format', '=', 'slack'), eb('subscriptions.botId', '=', anyOf(rotated.map(({ botId }) => botId)))]),
          ]),
    )
    .execute()
}

/** Takes or renews the lease for this time, by the clock of PostgreSQL. Returns false when another process has it. */
export async function takeLease(db: Database, holder: string, leaseMs: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update delivery_lease set holder = ${holder}, expires_at = now_ms() + ${leaseMs}::bigint
    where holder = ${holder} or expires_at < now_ms()`.execute(db)
  return numAffectedRows === 1n
}

export const releaseLease = (db: Database, holder: string) =>
  sql`update delivery_lease set holder = null, expires_at = 0 where holder = ${holder}`.execute(db)

interface ReachedPosition {
  id: string
  generation: number
  pos: number
}

/**
 * Stores the positions of subscriptions. A subscription that was replayed meanwhile keeps the position of the replay, and a process without
 * the lease changes nothing.
 */
export const updatePositions = (db: Database, holder: string, epoch: string, reached: readonly ReachedPosition[]) =>
  sql`
    update subscriptions s set pos = r.pos, epoch = ${epoch} from unnest(
      ${reached.map(({ id }) => id)}::uuid[], ${reached.map(({ generation }) => generation)}::integer[],
      ${reached.map(({ pos }) => pos)}::bigint[]) as r (id, generation, pos)
    where s.id = r.id and s.generation = r.generation
      and exists (select from delivery_lease where holder = ${holder})`.execute(db)

/** PostgreSQL accepts 65,535 parameters in a statement, and a row has nine. */
const insertBatchSize = 5_000

/** Stores any number of deliveries. */
export async function insertDeliveries(db: Database, deliveries: readonly SubscriptionDeliveryRow[]): Promise<void> {
  for (let first = 0; first < deliveries.length; first += insertBatchSize) {
    const batch = deliveries.slice(first, first + insertBatchSize)
    await db.insertInto('subscriptionDeliveries').values(batch).execute()
  }
}

/** Deliveries before one of them, newest first. Served by subscription_deliveries_of. */
export const listDeliveries = (db: Reader, subscriptionId: string, before: string | undefined, limit: number) =>
  db
    .selectFrom('subscriptionDeliveries')
    .selectAll()
    .where('subscriptionId', '=', subscriptionId)
    .$if(before !== undefined, (query) => query.where('id', '<', before!))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()

/** Those of these users who are neither removed nor deactivated, and no guests whose time is over, with their roles. */
export const findActiveUsers = (db: Reader, userIds: readonly string[], now: number) =>
  db
    .selectFrom('users')
    .select(['id', 'role'])
    .where('id', '=', anyOf(userIds))
    .where('removedAt', 'is', null)
    .where(isActive(now))
    .execute()

/** The position before the first event since this moment, or the newest position when there is none. Served by event_positions_age. */
export async function findPositionBefore(db: Reader, since: number): Promise<number> {
  const { rows } = await sql<{ pos: number }>`
    select coalesce(
      (select last_pos - cardinality(outbox_ids) from event_positions where created_at >= ${since}::bigint order by last_pos limit 1),
      (select pos from relay_lease))::bigint as pos`.execute(db)
  return rows[0]!.pos
}
