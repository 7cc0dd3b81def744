import { isReader } from '@parley/access'
import type { Routing } from '@parley/contract'
import { anyOf, type ChannelKind, type Database, isUnset } from '@parley/database'
import type { OpenStream, OpenStreams } from '../streams/open-streams.ts'
import { hasJoined, type KnownChannel, type KnownChannels, type Routed } from './known-channels.ts'

/** An audience with everything looked up: judging a stream needs no further query. */
export type Judged =
  | { to: 'everyone' | 'nobody' }
  | { to: 'people' | 'joined'; userIds: ReadonlySet<string> }
  | { to: 'public'; channel: KnownChannel; mentions: readonly string[] }
  | {
      to: 'readers'
      kind: ChannelKind
      members: ReadonlySet<string>
      channelId: string
      mentions: readonly string[]
    }
  | { to: 'outsiders'; members: ReadonlySet<string>; channelId: string | undefined }

/**
 * Whether a stream receives events of that audience: first whether its person may (rights), then whether it asked for them
 * (scope). `visitAudience` is the same rule, by indexes.
 */
export function receives(audience: Judged, stream: OpenStream): boolean {
  const { person, follower } = stream
  const { userId, isAdmin } = person
  switch (audience.to) {
    case 'everyone':
      return true
    case 'nobody':
      return false
    case 'people':
      return audience.userIds.has(userId)
    case 'joined':
      return follower !== null && audience.userIds.has(userId)
    case 'public':
      return follower === null || hasJoined(follower, audience.channel) || asksFor(stream, audience)
    case 'readers': {
      const isMember = audience.members.has(userId)
      if (!isReader(audience.kind, { isAdmin, isMember })) return false
      return follower === null || isMember || asksFor(stream, audience)
    }
    case 'outsiders':
      if (isAdmin || audience.members.has(userId)) return false
      return follower === null || (audience.channelId !== undefined && stream.watched.includes(audience.channelId))
  }
}

/** Whether a stream of `scope=joined` gets an event of a channel that its person has not joined. */
function asksFor({ person, watched }: OpenStream, audience: Extract<Judged, { to: 'public' | 'readers' }>): boolean {
  const channelId = audience.to === 'public' ? audience.channel.id : audience.channelId
  return watched.includes(channelId) || audience.mentions.includes(person.userId)
}

export interface EntitlementParts {
  db: Database
  streams: OpenStreams
  channels: KnownChannels
}

export type Entitlement = ReturnType<typeof createEntitlement>

const nobody: Judged = { to: 'nobody' }
const everyone: Judged = { to: 'everyone' }
const noMentions: readonly string[] = []

/**
 * Judges at delivery who receives an event, by what this node knows of channels and admins. An event that names a newer
 * membership version than is known waits for `load`.
 */
export function createEntitlement({ db, streams, channels }: EntitlementParts) {
  let changes = 0

  /** The audience of an event that `canJudge` or `load` has passed. */
  function judge(routing: Routing): Judged {
    switch (routing.to) {
      case 'everyone':
        return everyone
      case 'users':
        return { to: 'people', userIds: new Set(routing.users) }
      case 'joined':
        return { to: 'joined', userIds: new Set(routing.users) }
      case 'outsiders':
        return { to: 'outsiders', members: new Set(routing.members), channelId: routing.channel }
      case 'channel': {
        const channel = channels.get(routing.channel)
        if (!channel) return nobody
        const { id, kind, members } = channel
        const mentions = routing.mentions ?? noMentions
        if (isReader(kind, { isAdmin: false, isMember: false })) return { to: 'public', channel, mentions }
        return { to: 'readers', kind, members, channelId: id, mentions }
      }
      default:
        return nobody
    }
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
    channels.forget()
  }

  return {
    /** Whether these events can be judged at once. */
    canJudge: (events: readonly Routed[]) => events.every(channels.isKnown),
    load: channels.load,
    applyMembership: channels.applyMembership,
    trim: channels.trim,
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
