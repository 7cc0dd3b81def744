import type { Socket } from 'node:net'
import { type Role, tooMany, unavailable } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import type { Caller } from '@parley/identity'
import { label, type Metrics, metric } from '@parley/telemetry'
import type { KnownChannels } from './known-channels.ts'
import { createReconnectSurge } from './reconnect-surge.ts'
import type { EndReason, OpenSession, OpenStream, Person, StreamView } from './stream.ts'
import { endWithComment, isTaken, watchSocket } from './stream-socket.ts'

interface StreamLimits {
  maxStreams: number
  maxStreamsPerUser: number
  maxBufferBytes: number
  metrics: Metrics
  channels: Pick<KnownChannels, 'follower' | 'dropIfUnused'>
  /** Called when a person has one stream more or less on this node. */
  onCountChange: (userId: string) => void
}

export type OpenStreams = ReturnType<typeof createOpenStreams>

/** The closing comment of a stream. It is for people who look for a fault. Clients ignore it and reconnect. */
const closingComments: Record<Exclude<EndReason, 'client'>, string> = {
  session: 'the session has ended',
  role: 'the role of this person has changed, resume with the last id',
  slow: 'this client reads too slowly, resume with the last id',
  drain: 'this server is stopping, reconnect to another one',
  reset: 'a new order of events has begun',
  gone: 'the missed events are no longer stored',
  replaced: 'a newer stream of this consumer was opened, or the consumer was deleted',
  failed: 'this server failed to read the missed events',
}

/** The open streams of this node, found by person and by session. */
export function createOpenStreams({
  maxStreams,
  maxStreamsPerUser,
  maxBufferBytes,
  metrics,
  channels,
  onCountChange,
}: StreamLimits) {
  const all = new Set<OpenStream>()
  // Each stream is in one of the next three sets.
  const unscoped = new Set<OpenStream>()
  const scoped = new Set<OpenStream>()
  const ofGuests = new Set<OpenStream>()
  const watchers = new Map<string, Set<OpenStream>>()
  const people = new Map<string, Person>()
  const admins = new Set<Person>()
  const sessions = new Map<string, OpenSession>()
  const ended = metrics.counter(metric.streamsEnded)
  const stopObserving = metrics.gauge(metric.streamsOpen, () => all.size)
  const surge = createReconnectSurge(() => all.size)
  let opened = 0

  /** @throws ApiError 429 or 503 when there is no room for another stream of this person or on this node. */
  function checkRoom(userId: string) {
    if (all.size >= maxStreams) throw unavailable('This server cannot open more event streams right now', 5)
    const open = people.get(userId)?.streams.size ?? 0
    if (open >= maxStreamsPerUser) throw tooMany('You have too many event streams open', 30)
  }

  function add(socket: Socket, caller: Caller, { follower, watched, wantsPresence }: StreamView): OpenStream {
    const known = people.get(caller.userId)
    if (known) setRole(known, caller.role)
    const person = findOrAdd<Person>(people, caller.userId, () => ({
      userId: caller.userId,
      role: caller.role,
      streams: new Set(),
    }))
    const session = findOrAdd<OpenSession>(sessions, caller.sessionId, () => ({
      sessionId: caller.sessionId,
      expiresAt: 0,
      streams: new Set(),
    }))
    const stream: OpenStream = {
      id: uuidv7(),
      socket,
      person,
      session,
      follower,
      watched: follower === null || person.role === 'guest' ? nothing : watched,
      number: opened++,
      isLive: false,
      isEnded: false,
      waiting: null,
      presence: wantsPresence && person.role !== 'guest' ? null : 'none',
    }
    const kind = person.role === 'guest' ? ofGuests : follower === null ? unscoped : scoped
    for (const set of [all, kind, person.streams, session.streams]) set.add(stream)
    if (person.role === 'admin') admins.add(person)
    follower?.streams.add(stream)
    for (const id of stream.watched) findOrAdd(watchers, id, () => new Set()).add(stream)
    watchSocket(stream, end)
    surge.countOpened()
    onCountChange(person.userId)
    return stream
  }

  /**
   * Sets the role. When a person becomes a guest or stops being one, their streams end, because they were opened for
   * other events.
   */
  function setRole(person: Person, role: Role) {
    const getsOtherEvents = (person.role === 'guest') !== (role === 'guest')
    if (getsOtherEvents) for (const stream of person.streams) end(stream, 'role')
    person.role = role
    if (role === 'admin' && person.streams.size > 0) admins.add(person)
    else admins.delete(person)
  }

  /** Writes whole frames. A stream with too much unsent data is ended instead, and its client resumes with its cursor. */
  function write(stream: OpenStream, bytes: Buffer) {
    const { socket } = stream
    const unsent = socket.writableLength
    if (unsent > 0 && unsent + bytes.length > maxBufferBytes) end(stream, 'slow')
    else socket.write(bytes)
  }

  /** Ends a stream with the comment of its reason. Unsent data may still arrive, within a few seconds. */
  function end(stream: OpenStream, reason: EndReason) {
    if (stream.isEnded) return
    stream.isEnded = true
    stream.isLive = false
    ended.with({ [label.reason]: reason }).add()

    const { socket, person, session, follower } = stream
    for (const set of [all, unscoped, scoped, ofGuests]) set.delete(stream)
    for (const id of stream.watched) {
      watchers.get(id)?.delete(stream)
      if (watchers.get(id)?.size === 0) watchers.delete(id)
    }
    if (follower !== null) {
      follower.streams.delete(stream)
      channels.dropIfUnused(follower)
    }
    removeFromOwner(people, person.userId, person, stream)
    if (person.streams.size === 0) admins.delete(person)
    removeFromOwner(sessions, session.sessionId, session, stream)
    onCountChange(person.userId)
    if (reason === 'client') socket.destroy()
    else endWithComment(socket, closingComments[reason])
  }

  return {
    all,
    /** The streams of `scope=all`. */
    unscoped,
    /** The streams of `scope=joined`. */
    scoped,
    /** The streams of guests, which are in neither of the two. */
    ofGuests,
    /** Streams of `scope=joined` by the ids of the channels that they watch. */
    watchers,
    follower: channels.follower,
    people,
    admins,
    sessions,
    /** Whether clients are reconnecting all at once. */
    isSurging: surge.isOn,
    checkRoom,
    isTaken,
    add,
    setRole,
    write,
    end,
    stopObserving,
  }
}

/** One array for all streams that watch nothing. */
const nothing: readonly string[] = []

function findOrAdd<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key)
  if (known) return known
  const value = make()
  map.set(key, value)
  return value
}

/** Removes a stream from its person or session, which is forgotten with its last stream. */
function removeFromOwner<Owner extends { streams: Set<OpenStream> }>(
  owners: Map<string, Owner>,
  id: string,
  owner: Owner,
  stream: OpenStream,
) {
  owner.streams.delete(stream)
  // After its last stream ended, a newer object may have taken its place.
  if (owner.streams.size === 0 && owners.get(id) === owner) owners.delete(id)
}
