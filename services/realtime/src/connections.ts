import type { Socket } from 'node:net'
import { tooMany, unavailable } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import type { Caller } from '@parley/identity'
import { label, type Metrics, metric } from '@parley/telemetry'
import type { Sequence } from './sequence.ts'
import { createStorm } from './storm.ts'

/** Somebody with at least one open stream on this node. */
export interface Person {
  readonly userId: string
  /** Set by `setAdmin` alone. */
  isAdmin: boolean
  readonly connections: Set<Connection>
}

/** A session with at least one open stream on this node. */
export interface OpenSession {
  readonly sessionId: string
  /** Epoch milliseconds as last read, 0 until it was read. */
  expiresAt: number
  readonly connections: Set<Connection>
}

/** One open stream. */
export interface Connection {
  readonly id: string
  readonly socket: Socket
  readonly person: Person
  readonly session: OpenSession
  /** Which second of the keep-alive period is its own, so that not all are written to at once. */
  readonly turn: number
  /** Takes part in live delivery; false while it replays. */
  isLive: boolean
  isEnded: boolean
  /** What the delivery under way has for it beyond what goes to everybody; null between deliveries. */
  sequence: Sequence | null
  /** Up to where in the order of presence it was told; null until the first look. */
  presence: number | null
}

export type EndReason = 'client' | 'session' | 'slow' | 'reset' | 'drain' | 'gone' | 'failed'

export interface ConnectionLimits {
  maxStreams: number
  maxStreamsPerUser: number
  maxBufferBytes: number
  metrics: Metrics
  /** Told when somebody has one stream more or less. */
  onCount: (userId: string) => void
}

export type Connections = ReturnType<typeof createConnections>

/** The last that a stream says, as a comment: clients come back whatever it is, people who look into a stream want to know. */
const lastWords: Record<Exclude<EndReason, 'client'>, string> = {
  session: 'the session has ended',
  slow: 'this client reads too slowly, it resumes with its last id',
  drain: 'this server is stopping, another one goes on',
  reset: 'the order of events has begun anew',
  gone: 'what was missed is no longer kept',
  failed: 'this server failed to read what was missed',
}
const lastWordsMs = 5_000

/** The open streams of this node, found by person and by session. */
export function createConnections({
  maxStreams,
  maxStreamsPerUser,
  maxBufferBytes,
  metrics,
  onCount,
}: ConnectionLimits) {
  const all = new Set<Connection>()
  const people = new Map<string, Person>()
  const admins = new Set<Person>()
  const sessions = new Map<string, OpenSession>()
  const ended = metrics.counter(metric.streamsEnded)
  const stopObserving = metrics.gauge(metric.streamsOpen, () => all.size)
  const storm = createStorm()
  let opened = 0

  /** @throws ApiError 429 or 503 when there is no room for another stream of this person or on this node. */
  function checkRoom(userId: string) {
    if (all.size >= maxStreams) throw unavailable('This server cannot open more event streams right now', 5)
    const open = people.get(userId)?.connections.size ?? 0
    if (open >= maxStreamsPerUser) throw tooMany('You have too many event streams open', 30)
  }

  function add(socket: Socket, caller: Caller): Connection {
    const person = take<Person>(people, caller.userId, () => ({
      userId: caller.userId,
      isAdmin: caller.isAdmin,
      connections: new Set(),
    }))
    const session = take<OpenSession>(sessions, caller.sessionId, () => ({
      sessionId: caller.sessionId,
      expiresAt: 0,
      connections: new Set(),
    }))
    setAdmin(person, caller.isAdmin)
    const connection: Connection = {
      id: uuidv7(),
      socket,
      person,
      session,
      turn: opened++,
      isLive: false,
      isEnded: false,
      sequence: null,
      presence: null,
    }
    for (const set of [all, person.connections, session.connections]) set.add(connection)
    watch(connection)
    storm.opened()
    onCount(person.userId)
    return connection
  }

  /** Whether this socket carries a stream already. */
  const isTaken = (socket: Socket) => (socket as StreamSocket)[owner] !== undefined

  function setAdmin(person: Person, isAdmin: boolean) {
    person.isAdmin = isAdmin
    if (isAdmin) admins.add(person)
    else admins.delete(person)
  }

  /** Writes whole frames; a connection with too much unsent data is cut instead (it resumes by its cursor). */
  function write(connection: Connection, bytes: Buffer) {
    const { socket } = connection
    const unsent = socket.writableLength
    if (unsent > 0 && unsent + bytes.length > maxBufferBytes) end(connection, 'slow')
    else socket.write(bytes)
  }

  /** Ends a stream with its reason. What is on its way may still arrive, but nobody is waited for long. */
  function end(connection: Connection, reason: EndReason) {
    if (connection.isEnded) return
    connection.isEnded = true
    connection.isLive = false
    ended.with({ [label.reason]: reason }).add()

    const { socket, person, session } = connection
    all.delete(connection)
    leave(people, person.userId, person, connection)
    if (person.connections.size === 0) admins.delete(person)
    leave(sessions, session.sessionId, session, connection)
    onCount(person.userId)
    if (reason === 'client') socket.destroy()
    else sayLast(socket, lastWords[reason])
  }

  function watch(connection: Connection) {
    const socket = connection.socket as StreamSocket
    socket[owner] = { connection, end }
    socket.setNoDelay(true)
    socket.setKeepAlive(true, 30_000)
    socket.on('error', clientLeft)
    socket.on('end', clientLeft)
    socket.on('close', clientLeft)
    // Whatever a client sends after its request is read and dropped: without reading, its leaving would go unnoticed.
    socket.on('data', ignore)
    socket.resume()
  }

  return {
    all,
    people,
    admins,
    sessions,
    /** Whether clients are coming back all at once. */
    isStormy: storm.isOn,
    checkRoom,
    isTaken,
    add,
    setAdmin,
    write,
    end,
    stopObserving,
  }
}

const owner = Symbol('owner')
interface StreamSocket extends Socket {
  [owner]?: { connection: Connection; end: (connection: Connection, reason: EndReason) => void }
}

// One function for all sockets: a closure each would cost more than the rest of the connection.
function clientLeft(this: StreamSocket) {
  const owned = this[owner]
  owned?.end(owned.connection, 'client')
}

function ignore() {}

function sayLast(socket: Socket, words: string) {
  socket.write(`: ended, ${words}\n\n`)
  socket.destroySoon()
  setTimeout(() => socket.destroy(), lastWordsMs).unref()
}

function take<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key)
  if (known) return known
  const value = make()
  map.set(key, value)
  return value
}

function leave(
  map: Map<string, { connections: Set<Connection> }>,
  key: string,
  group: { connections: Set<Connection> },
  connection: Connection,
) {
  group.connections.delete(connection)
  // A newer group may have taken the place of an emptied one.
  if (group.connections.size === 0 && map.get(key) === group) map.delete(key)
}
