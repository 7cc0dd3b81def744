import type { Database } from '@parley/database'

const batchSize = 5_000

/** Deletes idempotency keys that were created before a moment. Returns their number. Served by idempotency_keys_age. */
export function deleteOldIdempotencyKeys(db: Database, before: number): Promise<number> {
  return inBatches(() =>
    db
      .deleteFrom('idempotencyKeys')
      .where(({ eb, refTuple, selectFrom }) =>
        eb(
          refTuple('userId', 'key'),
          'in',
          selectFrom('idempotencyKeys')
            .select(['userId', 'key'])
            .where('createdAt', '<', before)
            .orderBy('createdAt')
            .limit(batchSize)
            .$asTuple('userId', 'key'),
        ),
      )
      .executeTakeFirst(),
  )
}

/**
 * Deletes sessions that ended or expired before a moment. Returns their number. It reads the whole table, because an index of `expires_at`
 * would be written at each refresh.
 */
export function deleteOldSessions(db: Database, before: number): Promise<number> {
  return inBatches(() =>
    db
      .deleteFrom('sessions')
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('sessions')
          .select('id')
          .where(({ or, eb }) => or([eb('endedAt', '<', before), eb('expiresAt', '<', before)]))
          .limit(batchSize),
      )
      .executeTakeFirst(),
  )
}

/** Deletes one-time links that expired before a moment. Returns their number. Served by one_time_links_expiry. */
export function deleteOldLinks(db: Database, before: number): Promise<number> {
  return inBatches(() =>
    db
      .deleteFrom('oneTimeLinks')
      .where(({ eb, refTuple, selectFrom }) =>
        eb(
          refTuple('email', 'purpose'),
          'in',
          selectFrom('oneTimeLinks')
            .select(['email', 'purpose'])
            .where('expiresAt', '<', before)
            .orderBy('expiresAt')
            .limit(batchSize)
            .forUpdate()
            .skipLocked()
            .$asTuple('email', 'purpose'),
        ),
      )
      .executeTakeFirst(),
  )
}

/** Deletes counters whose last attempt was before a moment. Returns their number. Served by attempts_age. */
export function deleteOldAttempts(db: Database, before: number): Promise<number> {
  return inBatches(() =>
    db
      .deleteFrom('attempts')
      .where(({ eb, refTuple, selectFrom }) =>
        eb(
          refTuple('kind', 'subject'),
          'in',
          selectFrom('attempts')
            .select(['kind', 'subject'])
            .where('lastAttemptAt', '<', before)
            .orderBy('lastAttemptAt')
            .limit(batchSize)
            .forUpdate()
            .skipLocked()
            .$asTuple('kind', 'subject'),
        ),
      )
      .executeTakeFirst(),
  )
}

/** Deletes jobs that failed for good before a moment, so that texts of mails are not kept for ever. Returns their number. */
export function deleteDeadJobs(db: Database, before: number): Promise<number> {
  return inBatches(() =>
    db
      .deleteFrom('jobs')
      .where('id', 'in', (eb) => eb.selectFrom('jobs').select('id').where('failedAt', '<', before).limit(batchSize))
      .executeTakeFirst(),
  )
}

/** Deletes the consumers of removed bots, for which the outbox would keep events. Returns their number. */
export async function deleteConsumersOfRemoved(db: Database): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('consumers')
    .where('userId', 'in', (eb) => eb.selectFrom('users').select('id').where('removedAt', 'is not', null))
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/**
 * Marks the event subscriptions of removed bots as deleted, for which the outbox would keep events. The process that
 * delivers then forgets them. Returns their number.
 */
export async function deleteSubscriptionsOfRemoved(db: Database, now: number): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('subscriptions')
    .set({ deletedAt: now, updatedAt: now })
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('subscriptions')
        .select('id')
        .where('deletedAt', 'is', null)
        .where('botId', 'in', (users) => users.selectFrom('users').select('id').where('removedAt', 'is not', null))
        .forUpdate()
        .skipLocked(),
    )
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/** Deletes expired link previews. Returns their number. Served by link_previews_expiry. */
export function deleteOldLinkPreviews(db: Database, before: number): Promise<number> {
  return inBatches(() =>
    db
      .deleteFrom('linkPreviews')
      .where('urlHash', 'in', (eb) =>
        eb.selectFrom('linkPreviews').select('urlHash').where('expiresAt', '<', before).limit(batchSize),
      )
      .executeTakeFirst(),
  )
}

/** Deletes deliveries of event subscriptions before a moment. Returns their number. Served by subscription_deliveries_age. */
export function deleteOldDeliveries(db: Database, before: number): Promise<number> {
  return inBatches(() =>
    db
      .deleteFrom('subscriptionDeliveries')
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('subscriptionDeliveries')
          .select('id')
          .where('createdAt', '<', before)
          .orderBy('createdAt')
          .limit(batchSize),
      )
      .executeTakeFirst(),
  )
}

/** Deletes addresses (`response_url`) that expired before a moment. Returns their number. Served by app_responses_age. */
export function deleteOldResponses(db: Database, before: number): Promise<number> {
  return inBatches(() =>
    db
      .deleteFrom('appResponses')
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('appResponses')
          .select('id')
          .where('expiresAt', '<', before)
          .orderBy('expiresAt')
          .limit(batchSize),
      )
      .executeTakeFirst(),
  )
}

/**
 * Deletes the memberships of channels that were deleted before a moment. Returns the number of channels. Served by
 * channels_deleted.
 */
export async function deleteOldMemberships(db: Database, before: number): Promise<number> {
  const channels = await db
    .selectFrom('channels')
    .select('id')
    .where('deletedAt', '<', before)
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('channelMembers').select('userId').whereRef('channelId', '=', 'channels.id')),
    )
    .execute()
  for (const { id } of channels) await db.deleteFrom('channelMembers').where('channelId', '=', id).execute()
  return channels.length
}

/** Deletes with several short statements, because a long one would hold its locks and old row versions until its end. */
async function inBatches(deleteBatch: () => Promise<{ numDeletedRows: bigint }>): Promise<number> {
  let total = 0
  for (;;) {
    const { numDeletedRows } = await deleteBatch()
    total += Number(numDeletedRows)
    if (numDeletedRows < batchSize) return total
  }
}
