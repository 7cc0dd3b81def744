import { openSigningSecret } from '@parley/accounts'
import type { PositionedEvent } from '@parley/events'
import type { Seals } from '@parley/identity'
import type { SubscribedBot } from './event-requests.ts'
import type { EventFilter } from './matching.ts'
import type { Target } from './receiver-requests.ts'
import { sourcesOf } from './slack-events.ts'
import type { ChangedSubscription } from './subscriptions.queries.ts'

/** The state of a subscription in the memory of the process that delivers. */
export interface Subscriber extends EventFilter, Target, SubscribedBot {
  readonly id: string
  /** The row as it was last read. */
  row: ChangedSubscription
  createdBy: string
  generation: number
  isPaused: boolean
  /** Whether the subscription was deleted. */
  isDeleted: boolean
  /** Whether it takes part in the shared reading of the log. */
  isCaughtUp: boolean
  /** Whether its queue is being sent, or the log is being read for it. */
  isBusy: boolean
  /** Whether `deliveredPos` was changed and is not stored yet. */
  hasNewPosition: boolean
  /** The events that wait to be sent, oldest first. */
  queue: PositionedEvent[]
  /** When the rights for the events in `queue` were checked, or earlier, in milliseconds of `performance.now()`. */
  checkedAt: number
  /** The log was read for it up to this position. */
  readPos: number
  /** The receiver has all its events up to this position. */
  deliveredPos: number
  attempts: number
  failingSince: number | null
  retryAt: number
}

export type Subscribers = ReturnType<typeof createSubscribers>

/** Keeps the subscriptions that are not deleted, by their ids and by the types of their events. */
export function createSubscribers(seals: Seals) {
  const byId = new Map<string, Subscriber>()
  const byType = new Map<string, Set<Subscriber>>()

  function index(subscriber: Subscriber) {
    for (const type of subscriber.events) {
      const group = byType.get(type) ?? new Set()
      byType.set(type, group.add(subscriber))
    }
  }

  function unindex(subscriber: Subscriber) {
    for (const type of subscriber.events) byType.get(type)?.delete(subscriber)
  }

  /**
   * Applies a row that was read from the database. A new epoch changes no position: subscriptions and events were restored together, from
   * one database.
   */
  function apply(row: ChangedSubscription) {
    const known = byId.get(row.id)
    // A row that was read before this process committed a change must not undo that change in memory.
    if (known && isSame(known.row, row)) return
    if (known) unindex(known)
    if (row.deletedAt !== null) {
      if (known) known.isDeleted = true
      byId.delete(row.id)
      return
    }
    const facts = factsOf(row)
    const subscriber: Subscriber = known ?? { ...facts, ...startOf(row), isDeleted: false, isBusy: false }
    if (known) Object.assign(known, facts, known.generation !== row.generation && startOf(row))
    byId.set(row.id, subscriber)
    index(subscriber)
  }

  /** The part of the state that every change of the row replaces. */
  function factsOf(row: ChangedSubscription) {
    const { id, botId, createdBy, url, format, isPaused, attempts, failingSince } = row
    return {
      row,
      id,
      botId,
      createdBy,
      url,
      isPaused,
      attempts,
      failingSince,
      retryAt: row.retryAt ?? 0,
      format,
      events: format === 'slack' ? sourcesOf(row.events) : new Set(row.events),
      slackEvents: new Set(row.events),
      channelIds: row.channelIds && new Set(row.channelIds),
      secret: secretOf(row),
    }
  }

  function secretOf({ format, botId, sealedSecret, sealedSigningSecret }: ChangedSubscription): string | null {
    if (format === 'parley') return seals.open(sealedSecret) ?? null
    return (sealedSigningSecret && openSigningSecret(seals, { botId, sealedSigningSecret })) || null
  }

  return {
    apply,
    get all() {
      return byId.values()
    },
    get size() {
      return byId.size
    },
    of: (type: string): Subscriber[] => [...(byType.get(type) ?? [])],
  }
}

/** The part of the state that begins again when the subscription is replayed. */
const startOf = ({ generation, pos }: ChangedSubscription) => ({
  generation,
  readPos: pos,
  deliveredPos: pos,
  queue: [],
  checkedAt: Number.NEGATIVE_INFINITY,
  isCaughtUp: false,
  hasNewPosition: false,
})

const isSame = (one: ChangedSubscription, other: ChangedSubscription) =>
  one.updatedAt === other.updatedAt &&
  one.isPaused === other.isPaused &&
  one.generation === other.generation &&
  one.sealedSigningSecret === other.sealedSigningSecret
