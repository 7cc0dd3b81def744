import type { EphemeralEvent } from '@parley/events'
import type { Logger } from '@parley/telemetry'
import type { OpenStream, OpenStreams } from '../streams/open-streams.ts'
import { type Entitlement, type Judged, receives } from './entitlement.ts'
import { hasJoined } from './known-channels.ts'

/** Called once for each live stream that receives the event. */
type Visit = (stream: OpenStream) => void

/**
 * Visits the live streams for which `receives` is true. Finds them by person and channel, so the cost follows the audience; only
 * what concerns everybody goes through all streams.
 */
export function visitAudience(audience: Judged, streams: OpenStreams, visit: Visit) {
  const { all, unscoped, people } = streams
  switch (audience.to) {
    case 'everyone':
      return visitLive(all, visit)
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
  }
}

/** The streams of `scope=joined` among those that receive an event of a public channel, each once. */
export function visitScoped(audience: Extract<Judged, { to: 'public' }>, streams: OpenStreams, visit: Visit) {
  const { channel, mentions } = audience
  for (const follower of channel.followers) visitLive(follower.streams, visit)
  const watching = streams.watchers.get(channel.id)
  for (const stream of watching ?? []) if (stream.isLive && !hasJoined(stream.follower!, channel)) visit(stream)
  for (const userId of mentions) {
    const follower = streams.follower(userId)
    if (!follower || hasJoined(follower, channel)) continue
    for (const stream of follower.streams) if (stream.isLive && !watching?.has(stream)) visit(stream)
  }
}

function visitReaders(audience: Extract<Judged, { to: 'readers' }>, { people, admins }: OpenStreams, visit: Visit) {
  const { members } = audience
  // A large channel may have far more members than people who are connected here.
  if (members.size > people.size) {
    for (const person of people.values()) visitReceiving(person.streams, audience, visit)
    return
  }
  for (const userId of members) visitLive(people.get(userId)?.streams, visit)
  for (const admin of admins) if (!members.has(admin.userId)) visitReceiving(admin.streams, audience, visit)
}

function visitReceiving(streams: Iterable<OpenStream> = [], audience: Judged, visit: Visit) {
  for (const stream of streams) if (stream.isLive && receives(audience, stream)) visit(stream)
}

function visitLive(streams: Iterable<OpenStream> = [], visit: Visit) {
  for (const stream of streams) if (stream.isLive) visit(stream)
}

export interface EphemeralParts {
  streams: OpenStreams
  entitlement: Entitlement
  logger: Logger
}

/**
 * Writes events without a position to the live streams of their audience. They are dropped when rights cannot be read, and on
 * streams with unsent data.
 */
export function createEphemeralDelivery({ streams, entitlement, logger }: EphemeralParts) {
  async function deliver({ routing, event }: EphemeralEvent): Promise<void> {
    try {
      if (!entitlement.canJudge([{ routing }])) await entitlement.load([{ routing }])
    } catch (err) {
      logger.debug({ err }, 'an ephemeral event was dropped: its audience cannot be read')
      return
    }
    const frame = Buffer.from(`data: ${event}\n\n`)
    visitAudience(entitlement.judge(routing), streams, ({ socket }) => {
      if (socket.writableLength === 0) socket.write(frame)
    })
  }

  return { deliver: (event: EphemeralEvent) => void deliver(event) }
}
