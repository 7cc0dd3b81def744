import { audit, type Database, recordJob, type Transaction } from '@parley/database'
import type { Subscriber } from './subscribers.ts'

/** A subscription that fails for this time is paused. */
const pauseAfterMs = 3 * 24 * 3_600_000

interface Parts {
  db: Database
  clock: () => number
  wakeRelay: () => void
}

/** Call it when the receiver accepted an event after failed attempts. */
export async function noteSuccess(db: Database, subscriber: Subscriber) {
  Object.assign(subscriber, { attempts: 0, failingSince: null, retryAt: 0 })
  await update(db, subscriber, { attempts: 0, failingSince: null, retryAt: null })
}

/** Call it after a failed attempt. After three days without a success the subscription is paused. */
export async function noteFailure(
  parts: Parts,
  subscriber: Subscriber,
  { now, retryAt, error }: { now: number; retryAt: number; error: string },
) {
  const attempts = subscriber.attempts + 1
  const failingSince = subscriber.failingSince ?? now
  if (now - failingSince >= pauseAfterMs)
    return notePause(parts, subscriber, `It failed for three days. Last: ${error}`)
  Object.assign(subscriber, { attempts, failingSince, retryAt })
  await update(parts.db, subscriber, { attempts, failingSince, retryAt: Math.round(retryAt) })
}

/**
 * Pauses the subscription, and mails its creator. The events that it misses are kept for `events.consumerDays`.
 * @throws when the pause could not be stored. The subscription is not paused then.
 */
export async function notePause({ db, clock, wakeRelay }: Parts, subscriber: Subscriber, pauseReason: string) {
  const { id, botId, generation, row } = subscriber
  await db.transaction().execute(async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('subscriptions')
      .set({ isPaused: true, pauseReason, updatedAt: clock() })
      .where('id', '=', id)
      .where('generation', '=', generation)
      .where('isPaused', '=', false)
      .where('deletedAt', 'is', null)
      .executeTakeFirstOrThrow()
    if (numUpdatedRows === 0n) return
    await audit(trx, {
      action: 'subscription.pause',
      actorId: botId,
      targetType: 'subscription',
      targetId: id,
      metadata: { pauseReason },
    })
    await mailOwner(trx, subscriber, pauseReason)
  })
  // When somebody changed the subscription meanwhile, perhaps to continue it, their change stays.
  if (subscriber.row === row) subscriber.isPaused = true
  wakeRelay()
}

/** Mails the person who created the subscription, or all admins when a bot created it, because a bot has no mailbox. */
async function mailOwner(trx: Transaction, { createdBy, url }: Subscriber, reason: string) {
  const people = await trx
    .selectFrom('users')
    .select('email')
    .where('removedAt', 'is', null)
    .where('isBot', '=', false)
    .where(({ eb, or, not, exists, selectFrom }) =>
      or([
        eb('id', '=', createdBy),
        eb('isAdmin', '=', true).and(
          not(
            exists(selectFrom('users as creator').select('id').where('id', '=', createdBy).where('isBot', '=', false)),
          ),
        ),
      ]),
    )
    .limit(maxMails)
    .execute()
  const text =
    `Parley no longer sends events to ${url}. ${reason}.\n\n` +
    'Please repair the receiver and then continue the subscription. It will get the events that it missed, if they are still stored.\n'
  for (const { email } of people) {
    await recordJob(trx, 'send-mail', { to: email, subject: 'An event subscription is paused', text })
  }
}

const maxMails = 20

const update = (
  db: Database,
  { id, generation }: Subscriber,
  state: { attempts: number; failingSince: number | null; retryAt: number | null },
) => db.updateTable('subscriptions').set(state).where('id', '=', id).where('generation', '=', generation).execute()
