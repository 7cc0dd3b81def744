import type { Database } from '@parley/database'
import { type Metrics, metric } from '@parley/telemetry'
import { sql } from 'kysely'

export interface WaitingParts {
  db: Database
  metrics: Metrics
  /** Up to where everything was written to the live streams. */
  position: () => number
}

/**
 * Shows how long the oldest event has waited that some stream of this node still has to get. The times of deliveries do not tell
 * while nothing is delivered. Streams whose own client is slow are not waited for.
 */
export function observeWaiting({ db, metrics, position }: WaitingParts) {
  const reading = new Map<object, number>()
  const stop = metrics.gauge(metric.deliveryWaiting, async () => {
    const reached = Math.min(position(), ...reading.values())
    const { rows } = await sql<{ seconds: number }>`
      select greatest(now_ms() - created_at, 0) / 1000.0::float8 as seconds
      from event_positions where last_pos > ${reached} order by last_pos limit 1`.execute(db)
    return rows[0]?.seconds ?? 0
  })

  return {
    /** While `work` reads what follows a position for a stream, that stream waits for it. */
    async whileReading<Result>(stream: object, after: number, work: () => Promise<Result>): Promise<Result> {
      reading.set(stream, after)
      try {
        return await work()
      } finally {
        reading.delete(stream)
      }
    },
    stop,
  }
}

export type Waiting = ReturnType<typeof observeWaiting>
