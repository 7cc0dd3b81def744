import { type Connection as DatabaseConnection, findPresenceChanges } from '@parley/database'
import { type Logger, type Metrics, metric } from '@parley/telemetry'
import type { Connections } from '../connections.ts'
import { createPresenceLog, type Part } from './presence.log.ts'

export interface PresenceParts {
  pool: DatabaseConnection['pool']
  connections: Connections
  /** Updates one stream gets in a second at most. */
  presencePerSecond: number
  logger: Logger
  metrics: Metrics
}

const periodMs = 500
/** Updates written in one look, for all streams together: what is more waits, however many streams there are. */
const updatesAtOnce = 200_000

/**
 * Tells the open streams who comes and goes, by looking at PostgreSQL twice a second. A stream gets one write per look, of
 * so many people at most, and one that is behind gets none until it is not: what it is told by then is what holds by then.
 */
export function createPresence({ pool, connections, presencePerSecond, logger, metrics }: PresenceParts) {
  const log = createPresenceLog()
  const told = metrics.counter(metric.presenceUpdates).with()
  let since: number | undefined
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> | undefined
  let isBlind = false

  async function look() {
    try {
      const { changes, next } = await findPresenceChanges(pool, since)
      const before = log.head
      log.add(changes)
      since = next
      isBlind = false
      log.forget(tell(before), next)
    } catch (err) {
      if (!isBlind) logger.warn({ err }, 'presence cannot be read')
      isBlind = true
    }
  }

  /** Writes to everybody who has not been told; returns up to where all have been. Who is new begins at `newcomers`. */
  function tell(newcomers: number): number {
    const limit = Math.ceil(
      Math.min((presencePerSecond * periodMs) / 1_000, updatesAtOnce / Math.max(1, connections.all.size)),
    )
    const parts = new Map<number, Part>()
    let least = log.head
    for (const connection of connections.all) {
      connection.presence ??= newcomers
      if (connection.presence < log.head && connection.isLive && connection.socket.writableLength === 0) {
        const part = parts.get(connection.presence) ?? log.take(connection.presence, limit)
        parts.set(connection.presence, part)
        connection.presence = part.upTo
        if (part.people > 0) connection.socket.write(part.bytes)
        told.add(part.people)
      }
      least = Math.min(least, connection.presence)
    }
    return least
  }

  return {
    async start() {
      await look()
      timer = setInterval(() => {
        looking ??= look().finally(() => {
          looking = undefined
        })
      }, periodMs)
    },
    async stop() {
      clearInterval(timer)
      await looking
    },
  }
}
