import { anyOf, type Database, isUnset } from '@parley/database'
import type { Logger } from '@parley/telemetry'
import type { Connections, OpenSession } from './connections.ts'

export interface SessionWatchParts {
  db: Database
  connections: Connections
  clock: () => number
  logger: Logger
}

const periodMs = 1_000
/** Clocks of different processes, and transactions that commit later than they read the clock. */
const overlapMs = 60_000

/**
 * Ends the streams of sessions that ended or expired, by asking PostgreSQL every second. The event stream says so
 * sooner, but only while Redis is there. A refresh may have extended a session: it is read again before it is ended.
 */
export function createSessionWatch({ db, connections, clock, logger }: SessionWatchParts) {
  let timer: NodeJS.Timeout | undefined
  let lookedAt = clock()
  let isBlind = false
  let isLooking = false

  async function look() {
    if (isLooking) return
    const now = clock()
    if (connections.sessions.size === 0) {
      lookedAt = now
      return
    }
    isLooking = true
    try {
      await endEnded(lookedAt - overlapMs)
      await readExpiry(now)
      lookedAt = now
      isBlind = false
    } catch (error) {
      if (!isBlind) logger.warn({ err: error }, 'ended sessions cannot be read')
      isBlind = true
    } finally {
      isLooking = false
    }
  }

  async function endEnded(since: number) {
    const ended = await db.selectFrom('sessions').select('id').where('endedAt', '>', since).execute()
    for (const { id } of ended) end(connections.sessions.get(id))
  }

  /** Reads the sessions that are new here or seem to have expired. */
  async function readExpiry(now: number) {
    const due = [...connections.sessions.values()].filter(({ expiresAt }) => expiresAt <= now)
    if (due.length === 0) return
    const ids = due.map(({ sessionId }) => sessionId)
    const found = await db
      .selectFrom('sessions')
      .select(['id', 'expiresAt'])
      .where('id', '=', anyOf(ids))
      .where(isUnset('endedAt'))
      .where('expiresAt', '>', now)
      .execute()
    const live = new Map(found.map(({ id, expiresAt }) => [id, expiresAt]))
    for (const session of due) {
      const expiresAt = live.get(session.sessionId)
      if (expiresAt === undefined) end(session)
      else session.expiresAt = expiresAt
    }
  }

  function end(session: OpenSession | undefined) {
    for (const connection of session?.connections ?? []) connections.end(connection, 'session')
  }

  return {
    start() {
      timer = setInterval(look, periodMs)
    },
    stop() {
      clearInterval(timer)
    },
  }
}
