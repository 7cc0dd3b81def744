import { openSigningSecret } from '@parley/accounts'
import type { PositionedEvent } from '@parley/events'
import type { Seals } from '@parley/identity'
import type { SubscribedBot } from './event-requests.ts'
import type { Receiver } from './receiver-requests.ts'
import { sourcesOf } from './slack-events.ts'
import type { ChangedSubscription } from './subscriptions.queries.ts'

/**
 * A subscription in the memory of the process that delivers, from its row to its deletion or next replay. After a replay, another
 * subscriber has its place. Other files read this state, and change it only through the functions of this file.
 */
export type Subscriber = Readonly<State>

interface State {
  readonly id: string
  /** The number of replays before. */
  readonly generation: number
  /** Whether the subscription was deleted or replayed. Nothing more is sent then. */
  isOver: boolean
  settings: Settings
  isPaused: boolean
  failures: Failures

  /** Whether it takes part in the shared reading of the log. Otherwise the log is read for it separately. */
  isCaughtUp: boolean
  /** The log was read for it up to this position. */
  readPos: number
  /** The events that wait to be sent, oldest first. */
  queue: readonly PositionedEvent[]
  /** When the rights for the events in `queue` were checked, or earlier, in milliseconds of `performance.now()`. */
  checkedAt: number
  /** The receiver has all its events up to this position. */
  deliveredPos: number
  /** The position that is stored in PostgreSQL. */
  storedPos: number
}

/** What people have set for the subscription. A changed row replaces the whole object. */
export interface Settings extends Receiver, SubscribedBot {
  readonly row: ChangedSubscription
  /** The types of the events that the subscription asks for. */
  readonly events: ReadonlySet<string>
  /** Null means every channel. */
  readonly channelIds: ReadonlySet<string> | null
}

/** The failed attempts since the receiver last accepted an event. */
export interface Failures {
  readonly attempts: number
  readonly failingSince: number | null
  /** There is no attempt before this time. */
  readonly retryAt: number | null
}

/** Starts at the position of the row. */
export const createSubscriber = (row: ChangedSubscription, seals: Seals): Subscriber => ({
  id: row.id,
  generation: row.generation,
  isOver: false,
  ...readRow(row, seals),
  isCaughtUp: false,
  readPos: row.pos,
  queue: [],
  checkedAt: Number.NEGATIVE_INFINITY,
  deliveredPos: row.pos,
  storedPos: row.pos,
})

/** Call it when the row was changed, but not replayed. */
export function applyRow(subscriber: State, row: ChangedSubscription, seals: Seals): void {
  Object.assign(subscriber, readRow(row, seals))
}

/** Call it when the subscription was deleted or replayed. */
export function endSubscriber(subscriber: State): void {
  subscriber.isOver = true
}

export function joinSharedReading(subscriber: State): void {
  subscriber.isCaughtUp = true
}

/** From now on the log is read for it separately, after this position. */
export function readSeparatelyAfter(subscriber: State, readPos: number): void {
  subscriber.isCaughtUp = false
  subscriber.readPos = readPos
}

/** Adds the events that were read from the log, up to this position. Their rights were checked at `checkedAt`. */
export function addEvents(
  subscriber: State,
  events: readonly PositionedEvent[],
  { readPos, checkedAt }: { readPos: number; checkedAt: number },
): void {
  if (subscriber.queue.length === 0) subscriber.checkedAt = checkedAt
  subscriber.queue = [...subscriber.queue, ...events]
  subscriber.readPos = readPos
}

/** Keeps only the events for which the bot still has the rights, as checked at `checkedAt`. */
export function dropEvents(subscriber: State, dropped: ReadonlySet<PositionedEvent>, checkedAt: number): void {
  subscriber.queue = subscriber.queue.filter((event) => !dropped.has(event))
  subscriber.checkedAt = checkedAt
}

/** Call it when the receiver has accepted the first event of the queue. */
export function removeDelivered(subscriber: State): void {
  const [delivered, ...waiting] = subscriber.queue
  subscriber.queue = waiting
  subscriber.deliveredPos = delivered!.pos
}

export function noteStored(subscriber: State, pos: number): void {
  subscriber.storedPos = pos
}

export function noteFailures(subscriber: State, failures: Failures): void {
  subscriber.failures = failures
}

export function notePaused(subscriber: State): void {
  subscriber.isPaused = true
}

/** The part of the state that each changed row replaces. */
const readRow = (row: ChangedSubscription, seals: Seals): Pick<State, 'settings' | 'isPaused' | 'failures'> => ({
  settings: {
    row,
    botId: row.botId,
    url: row.url,
    secret: readSecret(row, seals),
    format: row.format,
    events: row.format === 'slack' ? sourcesOf(row.events) : new Set(row.events),
    slackEvents: new Set(row.events),
    channelIds: row.channelIds && new Set(row.channelIds),
  },
  isPaused: row.isPaused,
  failures: { attempts: row.attempts, failingSince: row.failingSince, retryAt: row.retryAt },
})

function readSecret(
  { format, botId, sealedSecret, sealedSigningSecret }: ChangedSubscription,
  seals: Seals,
): string | null {
  if (format === 'parley') return seals.open(sealedSecret) ?? null
  return (sealedSigningSecret && openSigningSecret(seals, { botId, sealedSigningSecret })) || null
}
