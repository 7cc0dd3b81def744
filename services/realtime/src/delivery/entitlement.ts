import { isReader } from '@parley/access'
import type { Routing } from '@parley/contract'
import { anyOf, type ChannelKind, type Database, isUnset } from '@parley/database'
import type { PositionedEvent } from '@parley/events'
import { sql } from 'kysely'
import type { OpenStreams } from '../streams/open-streams.ts'

/** Who may read a channel or conversation, at least as new as the newest event that passed. */
interface KnownChannel {
  kind: ChannelKind
  version: number
  members: ReadonlySet<string>
}

/** An audience with everything looked up: judging a person needs no further query. */
export type Judged =
  | { to: 'everyone' | 'nobody' }
  | { to: 'people'; userIds: ReadonlySet<string> }
  | { to: 'readers'; kind: ChannelKind; members: ReadonlySet<string> }
  | { to: 'outsiders'; members: ReadonlySet<string> }

type Routed = Pick<PositionedEvent, 'routing'>

export type Entitlement = ReturnType<typeof createEntitlement>

export interface EntitlementParts {
  db: Database
  streams: OpenStreams
  /** Most channels kept in memory, beside those of the current events. */
  knownChannels?: number
}

const nobody: Judged = { to: 'nobody' }
const everyone: Judged = { to: 'everyone' }

/**
 * Judges at delivery who may receive an event, by what this node knows of channels and admins. The events keep that
 * knowledge current: an event that names a newer membership version waits for `load`.
 */
export function createEntitlement({ db, streams, knownChannels = 20_000 }: EntitlementParts) {
  const channels = new Map<string, KnownChannel>()
  let changes = 0
  let loading = 0

  /** Whether these events can be judged at once. */
  const canJudge = (events: readonly Routed[]) => events.every(({ routing }) => isKnown(routing))

  function isKnown(routing: Routing) {
    if (routing.to !== 'channel') return true
    const known = channels.get(routing.channel)
    return known !== undefined && known.version >= routing.version
  }

  /** Reads the channels of these events that are unknown or known in an older version. @throws when the database is away. */
  async function load(events: readonly Routed[]): Promise<void> {
    loading++
    try {
      await readMissing(events)
    } finally {
      loading--
      // Only after the events of this turn are judged: a channel that is not known has no audience.
      if (channels.size > knownChannels) setImmediate(forgetOldest)
    }
  }

  function forgetOldest() {
    if (loading > 0) return
    for (const id of channels.keys()) {
      if (channels.size <= knownChannels) return
      channels.delete(id)
    }
  }

  async function readMissing(events: readonly Routed[]) {
    const wanted = new Map<string, number>()
    for (const { routing } of events) {
      if (routing.to === 'channel' && !isKnown(routing)) {
        wanted.set(routing.channel, Math.max(routing.version, wanted.get(routing.channel) ?? 0))
      }
    }
    if (wanted.size === 0) return

    const found = new Map((await readChannels(db, [...wanted.keys()])).map((channel) => [channel.id, channel]))
    for (const [id, version] of wanted) keep(id, found.get(id), version)
  }

  function keep(id: string, found: FoundChannel | undefined, version: number) {
    const known = channels.get(id)
    if (known && found && known.version > found.membersVersion) return
    channels.delete(id)
    // A channel without a row keeps the audience it had, which still has to be told of the deletion.
    if (found)
      channels.set(id, { kind: found.kind, version: found.membersVersion, members: new Set(found.members?.split(',')) })
    else channels.set(id, { kind: known?.kind ?? 'direct', members: known?.members ?? new Set(), version })
  }

  /** The audience of an event that `canJudge` or `load` has passed. */
  function judge(routing: Routing): Judged {
    if (routing.to === 'everyone') return everyone
    // No stream is opened with scope=joined yet.
    if (routing.to === 'nobody' || routing.to === 'joined') return nobody
    if (routing.to === 'users') return { to: 'people', userIds: new Set(routing.users) }
    if (routing.to === 'outsiders') return { to: 'outsiders', members: new Set(routing.members) }

    const channel = channels.get(routing.channel)
    if (!channel) return nobody
    const { kind, members } = channel
    return isReader(kind, { isAdmin: false, isMember: false }) ? everyone : { to: 'readers', kind, members }
  }

  /** Reads again whether these people are admins; ends the streams of those who were removed. @throws when the database is away. */
  async function reloadUsers(userIds: readonly string[]): Promise<void> {
    changes++
    const present = userIds.filter((id) => streams.people.has(id))
    if (present.length === 0) return
    const found = await db
      .selectFrom('users')
      .select(['id', 'isAdmin'])
      .where('id', '=', anyOf(present))
      .where(isUnset('removedAt'))
      .execute()
    const admin = new Map(found.map(({ id, isAdmin }) => [id, isAdmin]))
    for (const id of present) {
      const person = streams.people.get(id)
      if (!person) continue
      streams.setAdmin(person, admin.get(id) ?? false)
      if (!admin.has(id)) for (const stream of person.streams) streams.end(stream, 'session')
    }
  }

  function endSessions(sessionIds: readonly string[]) {
    changes++
    for (const id of sessionIds) {
      for (const stream of streams.sessions.get(id)?.streams ?? []) streams.end(stream, 'session')
    }
  }

  /** Forgets all versions, because the order of events begins anew: the database may be an older one. */
  function forget() {
    changes++
    channels.clear()
  }

  return {
    canJudge,
    load,
    forget,
    judge,
    reloadUsers,
    endSessions,
    /** Grows whenever rights change. Rights that were read before a change must be read again. */
    get changes() {
      return changes
    },
  }
}

type FoundChannel = Awaited<ReturnType<typeof readChannels>>[number]

/**
 * Deleted channels too, whose last event still has an audience. One statement, so that version and members agree. The members
 * come as one text, because the driver reads arrays slowly and there may be thousands.
 */
const readChannels = (db: Database, ids: string[]) =>
  db
    .selectFrom('channels')
    .select(({ selectFrom }) => [
      'id',
      'kind',
      'membersVersion',
      selectFrom('channelMembers')
        .whereRef('channelId', '=', 'channels.id')
        .select(sql<string>`string_agg(user_id::text, ',')`.as('members'))
        .where('channels.kind', '<>', 'public')
        .as('members'),
    ])
    .where('id', '=', anyOf(ids))
    .execute()
