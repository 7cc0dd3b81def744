import type { Connection as DatabaseConnection } from '@parley/database'
import { findPresenceChanges } from '@parley/presence'
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
const updatesPerSecond = 400_000
/** Writes for it in a second, with many streams: they are told less often then, of more people each time. */
const writesPerSecond = 5_000

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
  let toldAt = performance.now()
  let headThen = 0
  let isBlind = false

  async function look() {
    try {
      const { changes, next } = await findPresenceChanges(pool, since)
      log.add(changes)
      since = next
      isBlind = false
      const period = Math.max(periodMs, (1_000 * connections.all.size) / writesPerSecond)
      if (performance.now() - toldAt < period - periodMs / 2) return
      log.forget(tell(period), next)
      toldAt = performance.now()
      headThen = log.head
    } catch (err) {
      if (!isBlind) logger.warn({ err }, 'presence cannot be read')
      isBlind = true
    }
  }

  /** Writes to everybody what they were not told; returns up to where all have been. Who is new begins where the last time ended. */
  function tell(period: number): number {
    const perSecond = Math.min(presencePerSecond, updatesPerSecond / Math.max(1, connections.all.size))
    const limit = Math.ceil((perSecond * period) / 1_000)
    const parts = new Map<number, Part>()
    let least = log.head
    for (const connection of connections.all) {
      connection.presence ??= headThen
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
