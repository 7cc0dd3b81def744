import type { Database, SubscriptionDeliveryRow } from '@parley/database'
import type { Deps } from '@parley/service'
import type { LogReading } from './log-reading.ts'
import { noteStored } from './subscriber.ts'
import type { Subscribers } from './subscribers.ts'
import { insertDeliveries, updatePositions } from './subscriptions.queries.ts'

/** The pause between two writes of the positions of idle subscriptions. */
const idleMs = 60_000

interface ProgressParts {
  db: Database
  logger: Deps['logger']
  /** The name under which this process has the lease. */
  holder: string
  /** The epoch of the positions. */
  epoch: string
  subscribers: Subscribers
  reading: LogReading
}

/** Stores what the process with the lease has delivered. */
export function createProgress({ db, logger, holder, epoch, subscribers, reading }: ProgressParts) {
  /** The deliveries that are not stored yet. */
  const deliveries: SubscriptionDeliveryRow[] = []
  let inserting: Promise<void> | undefined
  let idleAt = performance.now()

  /**
   * Begins to store the deliveries. They only inform people, so the delivery of events neither waits for this nor ends when it fails. Those
   * that come meanwhile are stored by the next call.
   */
  function storeDeliveries() {
    if (inserting || deliveries.length === 0) return
    const unstored = deliveries.splice(0)
    inserting = insertDeliveries(db, unstored)
      .catch((err) => logger.warn({ err, deliveries: unstored.length }, 'the list of deliveries could not be stored'))
      .finally(() => {
        inserting = undefined
      })
  }

  /** Resolves when all deliveries are stored, or could not be stored. */
  async function deliveriesStored() {
    for (storeDeliveries(); inserting; storeDeliveries()) await inserting
  }

  /** Stores the new positions, and begins to store the deliveries. Positions of idle subscriptions are stored once a minute, and with `all`. */
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
    storeDeliveries()
    if (reached.length === 0) return
    await updatePositions(db, holder, epoch, reached)
    for (const { subscriber, pos } of reached) noteStored(subscriber, pos)
  }

  return {
    /** New deliveries are added to this list. The next `store` stores them. */
    deliveries,
    store,
    deliveriesStored,
  }
}
