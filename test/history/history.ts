import type { WireEvent } from '@parley/contract'

/**
 * The request of an operation. `place` is a channel or conversation. Every text of a client contains the number of its
 * operation.
 */
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
  /** Adds a person to the group of a channel, or removes them. They are a member of the channel while they are in the group. */
  | { kind: 'group'; group: string; user: string; isIn: boolean }
  | { kind: 'logout'; session: string }

export type ActOf<K extends Act['kind']> = Act & { kind: K }

/** The parts of the reply that the checker uses. */
export interface Told {
  /** The id of the created message, reply or channel. */
  id?: string
  seq?: number
  /** The `rev` of the message after the change. */
  rev?: number
  listed?: { id: string; seq: number }[]
}

/** One operation of a client, from before its first byte was sent until after the last byte of the reply arrived. */
export interface Operation {
  id: number
  /** User id. */
  who: string
  session: string
  act: Act
  /** Milliseconds of the common clock of the run. */
  invoked: number
  /** Infinity until there is a reply. It stays Infinity when it is not known whether the operation took effect. */
  completed: number
  outcome: 'ok' | 'refused' | 'unknown'
  /** The status of the last reply; undefined without a reply. */
  status: number | undefined
  /** For each try except the last, the reason why it had no clear reply. Tries that were told to wait are left out. */
  retriedFor: string[]
  /** The number of tries that got 409, because an earlier try with the same key was still running. */
  toldToWait: number
  told: Told
}

export interface Connection {
  opened: number
  /** The cursor after which it resumes; undefined for a first connection. */
  after: string | undefined
  resumed: boolean
  /** The time of its end; Infinity while it is open. */
  ended: number
}

export interface Delivery {
  /** The index in `History.events`. */
  cursor: string
  at: number
  /** The index in `connections`. */
  connection: number
}

/** Everything that one client of the event stream received, on all its connections. */
export interface Reading {
  name: string
  user: string
  session: string
  /** Channels that this reader follows beside those that its person has joined; undefined when it follows all (`scope=all`). */
  watched: readonly string[] | undefined
  connections: Connection[]
  deliveries: Delivery[]
  refusals: { status: number; body: string; at: number }[]
  /** Whether the reader was told to leave permanently. */
  isOver: boolean
}

/** The people. A person who is added later can receive nothing from the time before. */
export interface Participant {
  id: string
  name: string
  isAdmin: boolean
  /** Whether the person is always a guest, who can read only the channels of which they are a member. */
  isGuest?: boolean
}

/** Everything that clients did and received. Records are only added. */
export interface History {
  people: Map<string, Participant>
  /** Conversations by id, with their participants. */
  conversations: Map<string, readonly string[]>
  /** Channels whose members are those of a group, by the group’s id. Nobody joins or leaves them by hand. */
  groups: Map<string, string>
  operations: Operation[]
  readings: Reading[]
  /** Each event once, in the form in which its first receiver got it. */
  events: Map<string, WireEvent>
  /** Violations that were noticed while recording. */
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

/** A text that contains the number of its operation. */
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
