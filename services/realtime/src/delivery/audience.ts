import { hasJoined } from '../streams/known-channels.ts'
import type { OpenStreams } from '../streams/open-streams.ts'
import type { OpenStream } from '../streams/stream.ts'
import { type KnownAudience, receives } from './entitlement.ts'

/** Called once for each live stream that receives the event. */
type Visit = (stream: OpenStream) => void

/**
 * Visits the live streams for which `receives` is true. It looks them up by person and channel, so the cost grows with the audience.
 * Only an event for everyone visits all streams.
 */
export function visitAudience(audience: KnownAudience, streams: OpenStreams, visit: Visit) {
  const { all, unscoped, people } = streams
  switch (audience.to) {
    case 'everyone':
      return visitLive(all, visit)
    case 'notGuests':
      visitLive(unscoped, visit)
      visitLive(streams.scoped, visit)
      return visitGuests(audience, streams, visit)
    case 'people':
      for (const userId of audience.userIds) visitLive(people.get(userId)?.streams, visit)
      return
    case 'joined':
      for (const userId of audience.userIds) visitLive(streams.follower(userId)?.streams, visit)
      return
    case 'public':
      visitLive(unscoped, visit)
      return visitScoped(audience, streams, visit)
    case 'readers':
      return visitReaders(audience, streams, visit)
    case 'outsiders':
      visitReceiving(unscoped, audience, visit)
      if (audience.channelId !== undefined) visitReceiving(streams.watchers.get(audience.channelId), audience, visit)
      return
    case 'scoped':
      if (audience.within.to === 'public') return visitScoped(audience.within, streams, visit)
      return visitReaders(audience.within, streams, (stream) => stream.follower && visit(stream))
  }
}

/** Visits the streams of the guests in the audience `notGuests`: everyone else receives the event without being listed. */
export function visitGuests(audience: Extract<KnownAudience, { to: 'notGuests' }>, streams: OpenStreams, visit: Visit) {
  for (const stream of streams.ofGuests) if (stream.isLive && audience.guests.has(stream.person.userId)) visit(stream)
}

/** Visits the streams of `scope=joined`, and those of guests, that receive an event of a public channel. Each is visited once. */
export function visitScoped(audience: Extract<KnownAudience, { to: 'public' }>, streams: OpenStreams, visit: Visit) {
  const { channel, mentioned } = audience
  for (const follower of channel.followers) visitLive(follower.streams, visit)
  const watching = streams.watchers.get(channel.id)
  for (const stream of watching ?? []) if (stream.isLive && !hasJoined(stream.follower!, channel)) visit(stream)
  if (mentioned.size === 0) return
  // A large group may have far more members than there are people with streams on this node.
  for (const userId of mentioned.size > streams.people.size ? streams.people.keys() : mentioned) {
    const follower = mentioned.has(userId) ? streams.follower(userId) : undefined
    if (!follower || hasJoined(follower, channel)) continue
    for (const stream of follower.streams) {
      if (stream.isLive && !watching?.has(stream) && receives(audience, stream)) visit(stream)
    }
  }
}

function visitReaders(
  audience: Extract<KnownAudience, { to: 'readers' }>,
  { people, admins }: OpenStreams,
  visit: Visit,
) {
  const { members } = audience
  // A large channel may have far more members than there are people with streams on this node.
  if (members.size > people.size) {
    for (const person of people.values()) visitReceiving(person.streams, audience, visit)
    return
  }
  for (const userId of members) visitLive(people.get(userId)?.streams, visit)
  for (const admin of admins) if (!members.has(admin.userId)) visitReceiving(admin.streams, audience, visit)
}

function visitReceiving(streams: Iterable<OpenStream> = [], audience: KnownAudience, visit: Visit) {
  for (const stream of streams) if (stream.isLive && receives(audience, stream)) visit(stream)
}

function visitLive(streams: Iterable<OpenStream> = [], visit: Visit) {
  for (const stream of streams) if (stream.isLive) visit(stream)
}
