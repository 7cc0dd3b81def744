import type { Database, SubscriptionDeliveryRow } from '@parley/database'
import type { LogReading } from './log-reading.ts'
import { noteStored } from './subscriber.ts'
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
  /** The deliveries that are not stored yet. */
  const deliveries: SubscriptionDeliveryRow[] = []
  let idleAt = performance.now()

  /** Stores the deliveries and the new positions. Positions of idle subscriptions are stored once a minute, and with `all`. */
  async function store({ all = false } = {}) {
    const isIdleDue = all || performance.now() - idleAt > idleMs
    if (isIdleDue) idleAt = performance.now()
    const reached = [...subscribers.all]
      .filter(
        ({ deliveredPos, storedPos, queue, isPaused }) =>
          deliveredPos > storedPos || (isIdleDue && queue.length === 0 && !isPaused),
      )
      .map((subscriber) => ({
        subscriber,
        id: subscriber.id,
        generation: subscriber.generation,
        pos: reading.positionToStore(subscriber),
      }))
    const unstored = deliveries.splice(0)
    if (unstored.length > 0) await insertDeliveries(db, unstored)
    if (reached.length === 0) return
    await updatePositions(db, holder, epoch, reached)
    for (const { subscriber, pos } of reached) noteStored(subscriber, pos)
  }

  return {
    /** New deliveries are added to this list. The next `store` stores them. */
    deliveries,
    store,
  }
}
