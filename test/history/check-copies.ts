import type { WireEvent } from '@parley/contract'
import { copyFromEvents } from '../copies/channel-copy.ts'
import type { Report } from './check.ts'
import type { Final } from './check-storage.ts'
import type { History } from './history.ts'
import type { Rights } from './rights.ts'

/**
 * A person whose stream was open before the creation of a channel, and who may always read it, can rebuild its
 * messages, threads, reactions and pins from events alone. The result must be equal to the listings. So every stored
 * change had an event, and every event was stored, with or without a reply. The copy is kept by the product's client
 * and compared with data of the server, so this finds faults of both.
 */
export function checkCopies(history: History, rights: Rights, final: Final, report: Report): void {
  for (const reading of history.readings) {
    const opened = reading.connections[0]?.opened ?? Infinity
    if (reading.isOver || rights.sessionMayBeOver(reading.user, reading.session).length > 0) continue
    const places = [...rights.creations].filter(
      ([id, { invoked }]) =>
        invoked > opened && final.listed.has(id) && rights.surelyHears(reading, id, invoked, Infinity),
    )
    if (places.length === 0) continue
    const events = eventsOf(history, reading.deliveries)
    for (const [id] of places) {
      const threads = final.listed.get(id)!.flatMap((message) => {
        const replies = final.replies.get(message.id) ?? []
        return replies.length > 0 ? [[message.id, replies] as const] : []
      })
      const listed = { messages: final.listed.get(id)!, threads: Object.fromEntries(threads) }
      const difference = compare(events, id, listed)
      if (difference) report('events and listings agree', `${reading.name} in ${id}: ${difference}`)
    }
  }
}

function eventsOf({ events }: History, deliveries: readonly { cursor: string }[]): WireEvent[] {
  return [...new Set(deliveries.map(({ cursor }) => cursor))].map((cursor) => events.get(cursor)!)
}

function compare(events: readonly WireEvent[], id: string, listed: ReturnType<typeof copyFromEvents>) {
  try {
    const copy = copyFromEvents(events, id)
    const [all, expected] = [copy, listed].map(({ messages, threads }) => [messages, ...Object.values(threads)].flat())
    const kept = new Map(all!.map((message) => [message.id, canonical(message)]))
    for (const message of expected!) {
      if (kept.get(message.id) !== canonical(message))
        return `listed is ${canonical(message)}, heard was ${kept.get(message.id)}`
      kept.delete(message.id)
    }
    return kept.size > 0 ? `heard of, but not listed: ${[...kept.values()].join(', ')}` : undefined
  } catch (error) {
    return `the events do not fit each other: ${(error as Error).message}`
  }
}

/** A text that is equal for equal values, even if the order of their fields differs. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, each: unknown) =>
    each !== null && typeof each === 'object' && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  )
