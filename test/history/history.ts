import type { WireEvent } from '@parley/contract'

/** What a client asks for. `place` is a channel or conversation; every text that a client gives names its operation. */
export type Act =
  | { kind: 'send'; place: string; parent: string | null; content: string }
  | { kind: 'edit'; place: string; message: string; content: string }
  | { kind: 'delete' | 'pin' | 'unpin'; place: string; message: string }
  | { kind: 'react' | 'unreact'; place: string; message: string; reaction: string }
  | { kind: 'list'; place: string }
  | { kind: 'create'; name: string; topic: string; isPrivate: boolean; members: string[] }
  | { kind: 'change'; place: string; topic: string; isPrivate?: boolean; members?: string[] }
  | { kind: 'join' | 'leave' | 'drop'; place: string }
  | { kind: 'role'; user: string; isAdmin: boolean }
  | { kind: 'remove' | 'deactivate'; user: string }
  /** Puts somebody into the group of a channel, or takes them out of it: they are a member for as long. */
  | { kind: 'group'; group: string; user: string; isIn: boolean }
  | { kind: 'logout'; session: string }

export type ActOf<K extends Act['kind']> = Act & { kind: K }

/** What the answer told, as far as the checker looks at it. */
export interface Told {
  /** Of what was made: message, reply, channel. */
  id?: string
  seq?: number
  /** Of the message, after the change. */
  rev?: number
  listed?: { id: string; seq: number }[]
}

/** One thing a client did, from before its first byte went out until after the last of the answer came. */
export interface Operation {
  id: number
  /** User id. */
  who: string
  session: string
  act: Act
  /** Milliseconds of the one clock of the run. */
  invoked: number
  /** Infinity while there is no answer, and for good when nobody knows whether it took place. */
  completed: number
  outcome: 'ok' | 'refused' | 'unknown'
  /** Of the last answer; undefined when there was none. */
  status: number | undefined
  /** Why each try but the last had no clear answer, but for those that were told to wait. */
  retriedFor: string[]
  /** How many tries were answered with 409: an earlier try with the same key was still being worked on. */
  toldToWait: number
  told: Told
}

export interface Connection {
  opened: number
  /** Where it was to go on; undefined for a first one. */
  after: string | undefined
  resumed: boolean
  /** Infinity while it is open. */
  ended: number
}

export interface Delivery {
  /** Into `History.events`. */
  cursor: string
  at: number
  /** Index into `connections`. */
  connection: number
}

/** Everything that one client of the event stream saw, over all its connections. */
export interface Reading {
  name: string
  user: string
  session: string
  /** Channels that this reader follows beside those that its person has joined; undefined when it follows all (`scope=all`). */
  watched: readonly string[] | undefined
  connections: Connection[]
  deliveries: Delivery[]
  refusals: { status: number; body: string; at: number }[]
  /** The reader was told to leave for good. */
  isOver: boolean
}

/** Who takes part. Somebody who comes later was nobody before: nothing of that time can reach them. */
export interface Participant {
  id: string
  name: string
  isAdmin: boolean
  /** Reads only what they are a member of, all the time. */
  isGuest?: boolean
}

/** What clients did and saw: only ever added to. */
export interface History {
  people: Map<string, Participant>
  /** Conversations by id, with their participants. */
  conversations: Map<string, readonly string[]>
  /** Channels whose members are those of a group, by the group’s id. Nobody joins or leaves them by hand. */
  groups: Map<string, string>
  operations: Operation[]
  readings: Reading[]
  /** Each event once, as its first receiver got it. */
  events: Map<string, WireEvent>
  /** What should never be, noticed while recording. */
  oddities: string[]
}

export const createHistory = (): History => ({
  people: new Map(),
  conversations: new Map(),
  groups: new Map(),
  operations: [],
  readings: [],
  events: new Map(),
  oddities: [],
})

/** Text with the number of the operation that it belongs to. */
export const tagged = (operation: number, text = '') => `#${operation}${text && ` ${text}`}`

/** The number of the operation that a text belongs to. */
export function tagOf(text: string | null): number | undefined {
  const [, digits] = /^#(\d+)(?: |$)/.exec(text ?? '') ?? []
  return digits === undefined ? undefined : Number(digits)
}

export function recordDelivery(history: History, reading: Reading, event: WireEvent, cursor: string, at: number): void {
  const known = history.events.get(cursor)
  if (!known) history.events.set(cursor, event)
  else if (JSON.stringify(known) !== JSON.stringify(event)) {
    history.oddities.push(`${reading.name} got another event than others at ${cursor}: ${JSON.stringify(event)}`)
  }
  reading.deliveries.push({ cursor, at, connection: reading.connections.length - 1 })
}
