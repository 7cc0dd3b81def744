import type { Database, SubscriptionDeliveryRow } from '@parley/database'
import type { LogReading } from './log-reading.ts'
import type { Subscribers } from './subscribers.ts'
import { insertDeliveries, updatePositions } from './subscriptions.queries.ts'

/** The pause between two writes of the positions of idle subscriptions. */
const idleMs = 60_000

interface ProgressParts {
  db: Database
  /** The name under which this process has the lease. */
  holder: string
  /** The epoch of the positions. */
  epoch: string
  subscribers: Subscribers
  reading: LogReading
}

/** Stores what the process with the lease has delivered. */
export function createProgress({ db, holder, epoch, subscribers, reading }: ProgressParts) {
  const attempted: SubscriptionDeliveryRow[] = []
  let idleAt = performance.now()

  /** Stores the deliveries and the new positions. Positions of idle subscriptions are stored once a minute, and with `all`. */
  async function store({ all = false } = {}) {
    const isIdleDue = all || performance.now() - idleAt > idleMs
    if (isIdleDue) idleAt = performance.now()
    const reached = [...subscribers.all].filter(
      (each) => each.hasNewPosition || (isIdleDue && each.queue.length === 0 && !each.isPaused),
    )
    const deliveries = attempted.splice(0)
    try {
      if (deliveries.length > 0) await insertDeliveries(db, deliveries)
      for (const subscriber of reached) subscriber.hasNewPosition = false
      if (reached.length > 0) {
        const rows = reached.map((each) => ({
          id: each.id,
          generation: each.generation,
          pos: reading.positionToStore(each),
        }))
        await updatePositions(db, holder, epoch, rows)
      }
    } catch (error) {
      for (const subscriber of reached) subscriber.hasNewPosition = true
      throw error
    }
  }

  return {
    /** Deliveries are added here. The next `store` stores them. */
    attempted,
    store,
  }
}
