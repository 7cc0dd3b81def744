import type { Seals } from '@parley/identity'
import { applyRow, createSubscriber, endSubscriber, type Subscriber } from './subscriber.ts'
import type { ChangedSubscription } from './subscriptions.queries.ts'

export type Subscribers = ReturnType<typeof createSubscribers>

/** Keeps the subscriptions that are not deleted, by their ids and by the types of their events. */
export function createSubscribers(seals: Seals) {
  const byId = new Map<string, Subscriber>()
  const byType = new Map<string, Set<Subscriber>>()

  function add(subscriber: Subscriber) {
    byId.set(subscriber.id, subscriber)
    for (const type of subscriber.settings.events) {
      const group = byType.get(type) ?? new Set()
      byType.set(type, group.add(subscriber))
    }
  }

  function remove(subscriber: Subscriber) {
    byId.delete(subscriber.id)
    for (const type of subscriber.settings.events) byType.get(type)?.delete(subscriber)
  }

  /**
   * Applies a row that was read from the database. A new epoch changes no position: subscriptions and events were restored together, from
   * one database.
   */
  function apply(row: ChangedSubscription) {
    const known = byId.get(row.id)
    // A row that was read before this process committed a change must not undo that change in memory.
    if (known && isSame(known.settings.row, row)) return
    if (known) remove(known)
    if (row.deletedAt === null && known?.generation === row.generation) {
      applyRow(known, row, seals)
      add(known)
      return
    }
    if (known) endSubscriber(known)
    if (row.deletedAt === null) add(createSubscriber(row, seals))
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

const isSame = (one: ChangedSubscription, other: ChangedSubscription) =>
  one.updatedAt === other.updatedAt &&
  one.isPaused === other.isPaused &&
  one.generation === other.generation &&
  one.sealedSigningSecret === other.sealedSigningSecret
