import type { WireEvent } from '@parley/contract'
import { type Caused, causesOf, placeOf } from './cause.ts'
import type { Report } from './check.ts'
import { describe } from './check-answers.ts'
import type { Delivery, History, Operation, Reading } from './history.ts'
import { touches } from './register.ts'
import type { Rights } from './rights.ts'

/** Every reader received all events for which they were entitled, once, in the same order, and no others. */
export function checkDeliveries(history: History, rights: Rights, report: Report): void {
  const caused = causesOf(history)
  const checker = { history, rights, report, caused }
  for (const reading of history.readings) {
    checkConnections(reading, rights, report)
    const first = checkRepetitions(reading, checker)
    checkSequence(reading, first, checker)
    checkEntitlement(reading, first, checker)
    checkCompleteness(reading, first, checker)
  }
  if (!hasOneOrder(history)) report('all see the events in one order', 'no single order explains what the readers saw')
}

interface Checker {
  history: History
  rights: Rights
  report: Report
  caused: Caused
}

function checkConnections(
  { name, user, session, connections, refusals, isOver }: Reading,
  rights: Rights,
  report: Report,
) {
  for (const { after, resumed, opened } of connections) {
    if (after !== undefined && !resumed)
      report('a stream resumes', `${name} could not go on after ${after} at ${Math.round(opened)} ms`)
  }
  const over = rights.sessionMayBeOver(user, session)
  for (const { status, body, at } of refusals) {
    const isExplained = status === 503 || (status === 401 && touches(over, -Infinity, at))
    if (!isExplained)
      report('a stream is not refused without a reason', `${name}: ${status} ${body} at ${Math.round(at)} ms`)
  }
  const surely = rights.endOf(user, session)
  if (!isOver && surely < Infinity && connections.at(-1)?.ended === Infinity) {
    report(
      'a stream ends with its session',
      `${name} is still open, the session was over after ${Math.round(surely)} ms`,
    )
  }
}

/** A repeated event is allowed only on another connection, and must be the same event. Returns the first arrivals. */
function checkRepetitions({ name, deliveries }: Reading, { history, report, caused }: Checker): Delivery[] {
  const seen = new Map<string, Delivery>()
  const once = new Map<string, string>()
  const first: Delivery[] = []
  for (const delivery of deliveries) {
    const before = seen.get(delivery.cursor)
    if (before) {
      if (before.connection === delivery.connection)
        report('no event comes twice', `${name} got ${delivery.cursor} twice in one connection`)
      continue
    }
    seen.set(delivery.cursor, delivery)
    first.push(delivery)
    const event = history.events.get(delivery.cursor)!
    const identity = caused.identity(event)
    if (identity !== undefined && once.has(identity)) {
      report('no event comes twice', `${name} got ${identity} as ${once.get(identity)} and as ${delivery.cursor}`)
    }
    if (identity !== undefined) once.set(identity, delivery.cursor)
  }
  return first
}

/**
 * Events must be ordered by `seq` in each channel, conversation and thread. An operation that was acknowledged before
 * another one began comes first.
 */
function checkSequence({ name }: Reading, first: readonly Delivery[], { history, report, caused }: Checker) {
  const newest = new Map<string, number>()
  let latest: Operation | undefined
  for (const { cursor } of first) {
    const event = history.events.get(cursor)!
    const made = messageMade(event)
    if (made) {
      const group = made.threadId ?? made.channelId
      const last = newest.get(group) ?? 0
      if (made.seq <= last)
        report('messages come in the order of seq', `${name} got ${made.seq} after ${last} in ${group}`)
      newest.set(group, made.seq)
    }
    const operation = caused.by(event)
    if (!operation) continue
    if (operation.outcome === 'ok' && latest && latest.invoked > operation.completed) {
      report(
        'what was acknowledged before comes before',
        `${name} got ${describe(operation)} after ${describe(latest)}`,
      )
    }
    if (!latest || operation.invoked > latest.invoked) latest = operation
  }
}

function messageMade({ type, payload }: WireEvent) {
  if (type === 'NEW_MESSAGE' || type === 'NEW_DM_MESSAGE') return payload
  return type === 'NEW_THREAD_REPLY' ? payload.reply : undefined
}

/**
 * Rights are checked at delivery, so there must be a moment from the beginning of the operation to the arrival of its
 * event at which the receiver may have been entitled.
 */
function checkEntitlement(reading: Reading, first: readonly Delivery[], { history, rights, report, caused }: Checker) {
  const { name, user, session } = reading
  const over = rights.endOf(user, session)
  for (const { cursor, at } of first) {
    const event = history.events.get(cursor)!
    const operation = caused.by(event)
    const place = placeOf(event)
    const told = () =>
      `${name} got ${event.type} ${cursor} at ${Math.round(at)} ms${operation ? ` of ${describe(operation)}` : ''}`
    // The read position of a person, and what they have set, is sent to all their streams.
    const mayHear = (id: string) =>
      ['READ_UPDATE', 'THREAD_READ_UPDATE', 'UPDATE_CHANNEL_PREFERENCES'].includes(event.type)
        ? rights.mayRead(user, id)
        : rights.mayHear(reading, id)
    if (place !== undefined && !touches(mayHear(place), operation?.invoked ?? -Infinity, at)) {
      report('nobody hears what is not for them', told())
    }
    if (operation && operation.invoked > over) report('nobody hears anything after their session', told())
    if (!operation && caused.isNamed(event))
      report('nothing comes from nowhere', `${told()} ${JSON.stringify(event.payload)}`)
  }
}

/**
 * A reader whose stream was open before an operation began, and who was certainly entitled until they received a later
 * event, must have received its event.
 */
function checkCompleteness(reading: Reading, first: readonly Delivery[], { history, rights, report, caused }: Checker) {
  const { name, user, session, connections } = reading
  const opened = connections[0]?.opened ?? Infinity
  const mayBeOver = rights.sessionMayBeOver(user, session)
  const heard = new Set<string>()
  const changed = new Map<string, number[]>()
  /** For each arrival, the latest beginning of all operations whose events have arrived until then. */
  const latest: number[] = []
  for (const { cursor, at } of first) {
    const event = history.events.get(cursor)!
    for (const proof of caused.proofs(event)) heard.add(proof)
    if (event.type === 'NEW_CHANNEL' || event.type === 'DELETE_CHANNEL') {
      const key = `${event.type} ${event.payload.id}`
      changed.set(key, [...(changed.get(key) ?? []), at])
    }
    latest.push(Math.max(latest.at(-1) ?? -Infinity, caused.by(event)?.invoked ?? -Infinity))
  }

  for (const operation of history.operations) {
    const { act, invoked, completed, outcome } = operation
    if (outcome !== 'ok' || invoked < opened) continue
    const place = placeOfAct(operation, history)
    if (place === undefined) continue
    // A reader without later events must have received it by now, unless their session may be over.
    const isThere = !touches(mayBeOver, invoked, Infinity)
    const until = first[firstAbove(latest, completed)]?.at ?? (isThere ? Infinity : undefined)
    if (until === undefined) continue

    const proof = caused.proofOf(operation)
    if (proof && !heard.has(proof) && rights.surelyHears(reading, place, invoked, until)) {
      report(
        'everybody hears what is for them',
        `${name} (${user}) missed ${describe(operation)} until ${Math.round(until)} ms`,
      )
    }
    // Admins may read every channel, without events about this. A person who becomes an admin fetches everything again
    // (docs/clients.md).
    const isOwn =
      act.kind === 'group' ? act.user === user : (act.kind === 'join' || act.kind === 'leave') && operation.who === user
    if ((act.kind !== 'change' && !isOwn) || touches(rights.admin(user, true), invoked, until)) continue
    // When two changes run at the same time, either may have taken effect last.
    const wasTold = (type: string) =>
      changed.get(`${type} ${place}`)?.some((at) => at >= invoked && at <= until) ?? false
    const before = invoked - 0.001
    const gained =
      rights.surelyMisses(reading, place, before, before) && rights.surelyHears(reading, place, completed, until)
    if (gained && !wasTold('NEW_CHANNEL')) {
      report('who gains a channel is told so', `${name} missed ${describe(operation)}`)
    }
    const lost =
      rights.surelyHears(reading, place, before, before) && rights.surelyMisses(reading, place, completed, until)
    if (lost && rights.live(user, false).length === 0 && !wasTold('DELETE_CHANNEL')) {
      report('who loses a channel is told so', `${name} missed ${describe(operation)}`)
    }
  }
}

/** The audience of the event of an operation. */
function placeOfAct({ act, told }: Operation, { groups }: History): string | undefined {
  if (act.kind === 'group') return groups.get(act.group)
  return 'place' in act ? act.place : act.kind === 'create' ? told.id : undefined
}

/** Index of the first of these ascending numbers that is above the limit; their count when none is. */
function firstAbove(ascending: readonly number[], limit: number): number {
  let [low, high] = [0, ascending.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (ascending[middle]! > limit) high = middle
    else low = middle + 1
  }
  return low
}

/** Checks that one order of all events is compatible with the order of each reader. */
function hasOneOrder({ readings }: History): boolean {
  const followers = new Map<string, string[]>()
  const before = new Map<string, number>()
  for (const { deliveries } of readings) {
    let last: string | undefined
    const seen = new Set<string>()
    for (const { cursor } of deliveries) {
      if (seen.has(cursor)) continue
      seen.add(cursor)
      before.set(cursor, (before.get(cursor) ?? 0) + (last === undefined ? 0 : 1))
      if (last !== undefined) {
        if (!followers.has(last)) followers.set(last, [])
        followers.get(last)!.push(cursor)
      }
      last = cursor
    }
  }
  const next = [...before].flatMap(([cursor, count]) => (count === 0 ? [cursor] : []))
  let placed = 0
  for (let cursor = next.pop(); cursor !== undefined; cursor = next.pop()) {
    placed++
    for (const follower of followers.get(cursor) ?? []) {
      const left = before.get(follower)! - 1
      before.set(follower, left)
      if (left === 0) next.push(follower)
    }
  }
  return placed === before.size
}
