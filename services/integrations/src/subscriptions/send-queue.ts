import type { Config } from '@parley/config'
import { type Database, type SubscriptionDeliveryRow, uuidv7 } from '@parley/database'
import { type PositionedEvent, writeCursor } from '@parley/events'
import type { Requester } from '@parley/requester'
import type { SlackSource } from '../slack-objects/slack-references.queries.ts'
import { buildEventRequests, type EventRequest } from './event-requests.ts'
import { filterEntitled, typeOf } from './matching.ts'
import { noteFailure, notePause, noteSuccess } from './outcomes.ts'
import { type DeliveryOutcome, deliver, secretIsLost } from './receiver-requests.ts'
import { dropEvents, removeDelivered, type Settings, type Subscriber } from './subscriber.ts'

export interface SenderParts {
  db: Database
  config: SlackSource['config'] & Pick<Config, 'email'>
  clock: () => number
  wakeRelay: () => void
  requester: Requester
  /** Milliseconds before the next attempt, after this number of failed ones. */
  retryMs?: (attempts: number) => number
}

interface Term {
  /** The epoch of the positions of events. */
  epoch: string
  /** The list to which deliveries are added. The caller stores it later. */
  deliveries: SubscriptionDeliveryRow[]
  /** Aborted when this process must stop delivering. */
  ended: AbortSignal
  maySend(): boolean
}

/** 5 s, 20 s, 80 s and so on up to an hour; each is shortened at random by up to a fifth. */
const defaultRetryMs = (attempts: number) =>
  Math.min(5_000 * 4 ** (attempts - 1), 3_600_000) * (1 - 0.2 * Math.random())

/** The rights of a bot are checked again after this time. Access must end within two seconds. */
const rightsLastMs = 1_000

/** Makes the function that sends the queue of a subscription: one event after the other, until one fails. */
export function createQueueSender(parts: SenderParts, { epoch, deliveries, ended, maySend }: Term) {
  const { db, clock, requester, retryMs = defaultRetryMs } = parts

  return async function sendQueue(subscriber: Subscriber): Promise<void> {
    while (maySend() && (await sendNext(subscriber))) {}
  }

  /** Sends the first event of the queue. Returns whether the next one may follow at once. */
  async function sendNext(subscriber: Subscriber): Promise<boolean> {
    if (subscriber.queue.length === 0) return false
    const isRepeated = subscriber.failures.attempts > 0
    if (isRepeated) await checkRights(subscriber)
    else await keepRightsFresh(subscriber)
    const event = subscriber.queue[0]
    if (!mayFollow(subscriber) || !event) return false

    const { url } = subscriber.settings
    const outcome = await sendEvent(subscriber, event)
    if (outcome === 'interrupted') return mayFollow(subscriber)
    if (subscriber.isOver) return false
    if (outcome.error !== null) {
      // The answer of an old address says nothing about the new one.
      if (subscriber.settings.url !== url) return !subscriber.isPaused
      await noteError(subscriber, { status: outcome.status, error: outcome.error })
      return false
    }
    removeDelivered(subscriber)
    if (isRepeated) await noteSuccess(db, subscriber)
    return mayFollow(subscriber)
  }

  /** Whether a further request of the subscription may follow. */
  function mayFollow({ isOver, isPaused }: Subscriber): boolean {
    return !isOver && !isPaused && maySend()
  }

  async function noteError(subscriber: Subscriber, { status, error }: { status: number | null; error: string }) {
    // A process that was frozen until its lease expired must store nothing, because another process delivers now.
    if (!maySend()) return
    const now = clock()
    const retryAt = Math.round(now + retryMs(subscriber.failures.attempts + 1))
    if (status === 410) await notePause(parts, subscriber, 'The receiver answered 410: it is gone')
    else await noteFailure(parts, subscriber, { now, retryAt, error })
  }

  async function keepRightsFresh(subscriber: Subscriber) {
    if (performance.now() - subscriber.checkedAt > rightsLastMs) await checkRights(subscriber)
  }

  /** Drops the events that the bot may not receive any more. It may have lost its rights while they were waiting. */
  async function checkRights(subscriber: Subscriber) {
    const checkedAt = performance.now()
    const waiting = subscriber.queue.map((event) => ({ subscriber, event }))
    const allowed = new Set(await filterEntitled(db, waiting, clock()))
    const dropped = waiting.filter((pair) => !allowed.has(pair)).map(({ event }) => event)
    // The rights for events that came during the query were checked when they came.
    dropEvents(subscriber, new Set(dropped), checkedAt)
  }

  /**
   * Sends all requests for an event. After a failure, all of them will be sent again, unless the receiver asks for no further attempt. They
   * are interrupted when the subscription, the lease or the rights of the bot change between two of them.
   */
  async function sendEvent(
    subscriber: Subscriber,
    event: PositionedEvent,
  ): Promise<Pick<DeliveryOutcome, 'status' | 'error'> | 'interrupted'> {
    const { settings } = subscriber
    const id = writeCursor({ epoch, pos: event.pos })
    const attempt = subscriber.failures.attempts + 1
    const note = (request: Pick<EventRequest, 'type'>, outcome: DeliveryOutcome) => {
      const facts = { id: uuidv7(), subscriptionId: subscriber.id, eventId: id, type: request.type, attempt }
      const { isFinal: _, ...stored } = outcome
      deliveries.push({ ...facts, ...stored, createdAt: clock() })
      return outcome
    }
    if (settings.secret === null) return note({ type: typeOf(event)! }, secretIsLost)
    const requests = await buildEventRequests(parts, settings, settings.secret, { event, id, attempt })
    for (const [index, request] of requests.entries()) {
      if (index > 0) await keepRightsFresh(subscriber)
      const isSame = subscriber.settings === settings && subscriber.queue[0] === event
      if (!isSame || !mayFollow(subscriber)) return 'interrupted'
      const outcome = note(request, await deliver(requester, settings, request, ended))
      if (outcome.error !== null && !isDeclined(settings, outcome)) return outcome
    }
    return { status: null, error: null }
  }
}

/** Whether the receiver has refused an event in Slack's format for good. A status of 410 is about the whole subscription. */
const isDeclined = ({ format }: Settings, { status, isFinal }: DeliveryOutcome) =>
  format === 'slack' && isFinal === true && status !== 410
