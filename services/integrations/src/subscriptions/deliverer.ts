import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { createSignal, findNewestPosition, type Signal } from '@parley/events'
import type { Deps } from '@parley/service'
import { createFailureLog } from '@parley/telemetry'
import { createLogReading, type LogReading } from './log-reading.ts'
import { createProgress } from './progress.ts'
import { createQueueSender, type SenderParts } from './send-queue.ts'
import { noteFailures, type Subscriber } from './subscriber.ts'
import { createSubscribers, type Subscribers } from './subscribers.ts'
import { findChanged, releaseLease, takeLease } from './subscriptions.queries.ts'

interface DelivererOptions extends SenderParts, Pick<Deps, 'pool' | 'seals' | 'logger'> {}

const leaseMs = 8_000
const stepMs = 1_000
/** The pause between two reads of the log. On average an event waits for half of it. */
const pollMs = 200
/** A row of a subscription may be committed this long after its time of change. */
const overlapMs = 60_000

/**
 * Sends events to subscriptions: each event at least once, and in order for each subscription. The process that has the
 * lease delivers, and the others wait for the lease. The log is read once for all subscriptions that keep up. A
 * subscription that falls behind, because its receiver is slow or unavailable, reads the log separately. So one
 * receiver never delays the others.
 */
export function createDeliverer(options: DelivererOptions) {
  const { db, logger } = options
  const holder = `${hostname()} ${process.pid} ${randomUUID()}`
  const stopping = new AbortController()
  const wakeUp = createSignal()
  const failures = createFailureLog(logger, 'delivering events to subscriptions failed; it will be tried again')
  let running: Promise<void> | undefined

  async function competeForLease() {
    while (!stopping.signal.aborted) {
      try {
        const hasLease = await takeLease(db, holder, leaseMs)
        failures.succeeded()
        if (hasLease) await lead(options, { holder, stopping, wakeUp })
      } catch (err) {
        if (!stopping.signal.aborted) failures.failed(err)
      }
      await delay(stepMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  return {
    start() {
      running = competeForLease()
    },
    async stop() {
      stopping.abort()
      wakeUp.ring()
      await running
    },
  }
}

interface Candidate {
  /** The name under which this process takes the lease. */
  holder: string
  stopping: AbortController
  /** Rings when a subscription has finished its task, and when the deliverer stops. */
  wakeUp: Signal
}

/**
 * Delivers until stopped, until the lease is lost, or until PostgreSQL fails. Events beyond the stored positions are
 * sent again later.
 */
async function lead(options: DelivererOptions, { holder, stopping, wakeUp }: Candidate): Promise<void> {
  const { db, seals, logger } = options
  const term = new AbortController()
  const ended = AbortSignal.any([term.signal, stopping.signal])
  const { epoch, pos } = await findNewestPosition(db)
  const subscribers = createSubscribers(seals)
  const reading = createLogReading(options, subscribers)
  const progress = createProgress({ db, logger, holder, epoch, subscribers, reading })
  let heldUntil = performance.now() + leaseMs
  const send = createQueueSender(options, {
    epoch,
    deliveries: progress.deliveries,
    ended,
    maySend: () => !ended.aborted && performance.now() < heldUntil,
  })
  const tasks = createTasks(options, { reading, send, ended, wakeUp })
  const loadChanges = createChangeLoader(options, subscribers)

  /** Renews the lease, and stores and reads what has changed. Returns the newest position; undefined when the term is over. */
  async function step(): Promise<number | undefined> {
    const begun = performance.now()
    if (!(await takeLease(db, holder, leaseMs))) return undefined
    heldUntil = begun + leaseMs
    await loadChanges()
    await progress.store()
    const now = await findNewestPosition(db)
    return now.epoch === epoch ? now.pos : undefined
  }

  await loadChanges()
  reading.begin(pos)
  try {
    let newestPos = pos
    let steppedAt = Number.NEGATIVE_INFINITY
    while (!ended.aborted) {
      if (performance.now() - steppedAt >= stepMs) {
        steppedAt = performance.now()
        const reached = await step()
        if (reached === undefined) return
        newestPos = reached
      }
      const isMore = await reading.readNextPage(newestPos)
      for (const subscriber of subscribers.all) tasks.advance(subscriber)
      if (!isMore) await wakeUp.wait(pollMs)
    }
  } finally {
    term.abort()
    await tasks.allEnded()
    if (stopping.signal.aborted) {
      await progress
        .store({ all: true })
        .catch((err) => logger.warn({ err }, 'some events will be sent to subscriptions again'))
      await releaseLease(db, holder).catch(() => {})
    }
    await progress.deliveriesStored()
  }
}

/** Makes the function that reads the subscriptions that have changed since its last call. */
function createChangeLoader({ db, clock }: Pick<DelivererOptions, 'db' | 'clock'>, subscribers: Subscribers) {
  let changedSince = 0

  return async function loadChanges() {
    const since = changedSince
    changedSince = clock() - overlapMs
    for (const row of await findChanged(db, since)) subscribers.apply(row)
  }
}

interface TaskParts {
  reading: LogReading
  send: (subscriber: Subscriber) => Promise<void>
  /** Aborted when this process must stop delivering. */
  ended: AbortSignal
  wakeUp: Signal
}

/** Each subscription has one task at a time: sending its queue, or reading the log. */
function createTasks(
  { clock, logger }: Pick<DelivererOptions, 'clock' | 'logger'>,
  { reading, send, ended, wakeUp }: TaskParts,
) {
  /** The running tasks, by the ids of the subscriptions. */
  const running = new Map<string, Promise<void>>()

  /** Whether a task of this subscription is due. */
  function isDue({ id, isPaused, isCaughtUp, queue, failures }: Subscriber): boolean {
    if (running.has(id) || isPaused || ended.aborted) return false
    if (queue.length === 0 && (isCaughtUp || !reading.mayCatchUp())) return false
    return (failures.retryAt ?? 0) <= clock()
  }

  /** Starts the next task of a subscription, if one is due. */
  function advance(subscriber: Subscriber) {
    if (!isDue(subscriber)) return
    const { id } = subscriber
    const task = (subscriber.queue.length > 0 ? send(subscriber) : reading.catchUp(subscriber))
      .catch((err) => {
        postpone(subscriber, clock() + stepMs)
        if (!ended.aborted)
          logger.warn({ err, subscription: id }, 'a task of a subscription failed; it will be tried again')
      })
      .finally(() => {
        running.delete(id)
        wakeUp.ring()
      })
    running.set(id, task)
  }

  return { advance, allEnded: () => Promise.all(running.values()) }
}

function postpone(subscriber: Subscriber, until: number) {
  const { failures } = subscriber
  noteFailures(subscriber, { ...failures, retryAt: Math.max(failures.retryAt ?? 0, until) })
}
