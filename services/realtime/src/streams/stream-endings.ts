import { setTimeout as delay } from 'node:timers/promises'
import { anyOf, type Database, isActive, isUnset } from '@parley/database'
import { createFailureLog, type Logger } from '@parley/telemetry'
import { sql } from 'kysely'
import type { OpenStreams } from './open-streams.ts'
import type { OpenSession } from './stream.ts'

interface SessionWatchParts {
  db: Database
  streams: OpenStreams
  clock: () => number
  logger: Logger
}

const periodMs = 1_000
/** Covers differences between clocks, and transactions that commit some time after they read the clock. */
const overlapMs = 60_000

/**
 * Ends the streams of sessions that ended or expired. It queries PostgreSQL every second. An event usually ends them
 * sooner. A refresh may have extended a session, so its expiry is read again before its streams end.
 */
export function createSessionWatch({ db, streams, clock, logger }: SessionWatchParts) {
  let timer: NodeJS.Timeout | undefined
  let checkedAt = clock()
  const failures = createFailureLog(logger, 'ended sessions cannot be read')
  let isChecking = false

  async function check() {
    if (isChecking) return
    const now = clock()
    if (streams.sessions.size === 0) {
      checkedAt = now
      return
    }
    isChecking = true
    await endFinishedSessions(now)
      .catch(() => {})
      .finally(() => {
        isChecking = false
      })
  }

  /** Ends the streams of sessions that are over now. @throws when the database is unavailable. */
  async function endFinishedSessions(now = clock()) {
    try {
      await endEnded(checkedAt - overlapMs)
      await endExpired(now)
      checkedAt = Math.max(checkedAt, now)
      failures.succeeded()
    } catch (error) {
      failures.failed(error)
      throw error
    }
  }

  async function endEnded(since: number) {
    const ended = await db.selectFrom('sessions').select('id').where('endedAt', '>', since).execute()
    for (const { id } of ended) end(streams.sessions.get(id))
  }

  /** Reads the sessions that are new on this node or seem to have expired. */
  async function endExpired(now: number) {
    const due = [...streams.sessions.values()].filter(({ expiresAt }) => expiresAt <= now)
    if (due.length === 0) return
    for (const session of due) session.expiresAt = now
    const ids = due.map(({ sessionId }) => sessionId)
    const found = await db
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.userId')
      // The stream of a guest ends when the guest's time is over.
      .select(['sessions.id', sql<number>`least(expires_at, guest_expires_at)`.as('expiresAt')])
      .where('sessions.id', '=', anyOf(ids))
      .where(isUnset('endedAt'))
      .where('expiresAt', '>', now)
      .where(isActive(now))
      .execute()
    const live = new Map(found.map(({ id, expiresAt }) => [id, expiresAt]))
    for (const session of due) {
      const expiresAt = live.get(session.sessionId)
      if (expiresAt === undefined) end(session)
      // It is 0 again when it has changed after the query: the next check reads it.
      else if (session.expiresAt === now) session.expiresAt = expiresAt
    }
  }

  function end(session: OpenSession | undefined) {
    for (const stream of session?.streams ?? []) streams.end(stream, 'session')
  }

  return {
    start() {
      timer = setInterval(check, periodMs)
    },
    stop() {
      clearInterval(timer)
    },
    endFinishedSessions,
  }
}

const drainStepMs = 50

/** Ends all streams, in random order spread over `seconds`, so that their clients do not reconnect all at once. */
export async function drain(streams: OpenStreams, seconds: number): Promise<void> {
  const waiting = shuffled([...streams.all])
  const steps = Math.max(1, Math.round((seconds * 1_000) / drainStepMs))
  const perStep = Math.ceil(waiting.length / steps)
  while (waiting.length > 0) {
    for (const stream of waiting.splice(-perStep)) streams.end(stream, 'drain')
    if (waiting.length > 0) await delay(drainStepMs)
  }
  for (const stream of streams.all) streams.end(stream, 'drain')
}

function shuffled<Item>(items: Item[]): Item[] {
  for (let last = items.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1))
    const item = items[last]!
    items[last] = items[other]!
    items[other] = item
  }
  return items
}
