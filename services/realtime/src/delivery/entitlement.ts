import { isNotGuestOrNamed, isOutsider, isReader } from '@parley/access'
import type { Routing } from '@parley/contract'
import { anyOf, type ChannelKind, type Database, isUnset } from '@parley/database'
import { hasJoined, type KnownChannels, type Routed } from '../streams/known-channels.ts'
import type { OpenStreams } from '../streams/open-streams.ts'
import type { KnownChannel, OpenStream } from '../streams/stream.ts'
import { createKnownGroups } from './known-groups.ts'

/** An audience whose members and mentions are known: `receives` needs no further query. */
export type KnownAudience =
  | { to: 'everyone' | 'nobody' }
  /** Everybody but guests, and these guests. */
  | { to: 'notGuests'; guests: ReadonlySet<string> }
  | { to: 'people' | 'joined'; userIds: ReadonlySet<string> }
  | { to: 'public'; channel: KnownChannel; mentioned: ReadonlySet<string> }
  | {
      to: 'readers'
      kind: ChannelKind
      members: ReadonlySet<string>
      channelId: string
      mentioned: ReadonlySet<string>
    }
  | { to: 'outsiders'; members: ReadonlySet<string>; channelId: string | undefined }
  /** Only the streams of `scope=joined` and of guests within that audience. */
  | { to: 'scoped'; within: Extract<KnownAudience, { to: 'public' | 'readers' }> }

/**
 * Whether a stream receives the events of an audience. The person must have the right to read them, and the scope of the stream must
 * include them. `visitAudience` has the same rule, but uses indexes.
 */
export function receives(audience: KnownAudience, stream: OpenStream): boolean {
  const { person, follower } = stream
  const { userId, role } = person
  switch (audience.to) {
    case 'everyone':
      return true
    case 'notGuests':
      return isNotGuestOrNamed(role, audience.guests.has(userId))
    case 'nobody':
      return false
    case 'people':
      return audience.userIds.has(userId)
    case 'joined':
      return follower !== null && audience.userIds.has(userId)
    case 'public':
      if (follower === null || hasJoined(follower, audience.channel)) return true
      return isReader('public', { role, isMember: false }) && asksFor(stream, audience)
    case 'readers': {
      const isMember = audience.members.has(userId)
      if (!isReader(audience.kind, { role, isMember })) return false
      return follower === null || isMember || asksFor(stream, audience)
    }
    case 'outsiders':
      if (!isOutsider({ role, isMember: audience.members.has(userId) })) return false
      return follower === null || (audience.channelId !== undefined && stream.watched.includes(audience.channelId))
    case 'scoped':
      return follower !== null && receives(audience.within, stream)
  }
}

/** Whether a stream of `scope=joined` receives an event of a channel that its person has not joined. */
function asksFor(
  { person, watched }: OpenStream,
  audience: Extract<KnownAudience, { to: 'public' | 'readers' }>,
): boolean {
  const channelId = audience.to === 'public' ? audience.channel.id : audience.channelId
  return watched.includes(channelId) || audience.mentioned.has(person.userId)
}

interface EntitlementParts {
  db: Database
  streams: OpenStreams
  channels: KnownChannels
}

export type Entitlement = ReturnType<typeof createEntitlement>

const nobody: KnownAudience = { to: 'nobody' }
const everyone: KnownAudience = { to: 'everyone' }
const noMentions: ReadonlySet<string> = new Set()

/**
 * Finds the audience of an event at its delivery, from the channels, groups and roles that this node has in memory. An event that
 * names a newer membership version, or mentions a group that is not in memory, waits for `load`.
 */
export function createEntitlement({ db, streams, channels }: EntitlementParts) {
  const groups = createKnownGroups({ db })
  let changes = 0

  /** The audience of an event. Call it after `isKnown` has returned true for this event, or after `load`. */
  function resolveAudience(routing: Routing): KnownAudience {
    switch (routing.to) {
      case 'everyone':
        return routing.guests ? { to: 'notGuests', guests: new Set(routing.guests) } : everyone
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
        const mentioned = routing.mentions ? groups.mentionedBy(routing.mentions) : noMentions
        const within = isReader(kind, { role: 'member', isMember: false })
          ? ({ to: 'public', channel, mentioned } as const)
          : ({ to: 'readers', kind, members, channelId: id, mentioned } as const)
        return routing.scopedOnly ? { to: 'scoped', within } : within
      }
      default:
        return nobody
    }
  }

  /**
   * Reads the roles of these people again, and ends the streams of those who were removed or deactivated. @throws when the
   * database does not answer.
   */
  async function reloadUsers(userIds: readonly string[]): Promise<void> {
    changes++
    const present = userIds.filter((id) => streams.people.has(id))
    if (present.length === 0) return
    const found = await db
      .selectFrom('users')
      .select(['id', 'role'])
      .where('id', '=', anyOf(present))
      .where(isUnset('removedAt'))
      .where(isUnset('deactivatedAt'))
      .execute()
    const roles = new Map(found.map(({ id, role }) => [id, role]))
    for (const id of present) {
      const person = streams.people.get(id)
      if (!person) continue
      const role = roles.get(id)
      if (role) streams.setRole(person, role)
      else for (const stream of person.streams) streams.end(stream, 'session')
      // The time at which a guest's access ends may have changed, so the expiry is read again.
      for (const { session } of person.streams) session.expiresAt = 0
    }
  }

  function endSessions(sessionIds: readonly string[]) {
    changes++
    for (const id of sessionIds) {
      for (const stream of streams.sessions.get(id)?.streams ?? []) streams.end(stream, 'session')
    }
  }

  /** Forgets all versions, because a new epoch begins: the database may be an older one. */
  function forget() {
    changes++
    channels.forget()
    groups.forget()
  }

  return {
    /** Whether the audiences of these events are known without `load`. */
    isKnown: (events: readonly Routed[]) => events.every((event) => channels.isKnown(event) && groups.isKnown(event)),
    /** Reads the channels and groups of these events that are not in memory. @throws when the database does not answer. */
    async load(events: readonly Routed[]): Promise<void> {
      await channels.load(events)
      await groups.load(events)
    },
    applyMembership: channels.applyMembership,
    forgetGroups: groups.forget,
    trim() {
      channels.trim()
      groups.trim()
    },
    forget,
    resolveAudience,
    reloadUsers,
    endSessions,
    /** Increases whenever rights change. Rights that were read before a change must be read again. */
    get changes() {
      return changes
    },
  }
}
