import { isReader } from '@parley/access'
import type { EphemeralEvent } from '@parley/events'
import type { Logger } from '@parley/telemetry'
import type { OpenStream, OpenStreams, Person } from '../streams/open-streams.ts'
import type { Entitlement, Judged } from './entitlement.ts'

/** Whether this person gets an event of that audience. */
export function isEntitled(audience: Judged, { userId, isAdmin }: Person): boolean {
  switch (audience.to) {
    case 'everyone':
      return true
    case 'nobody':
      return false
    case 'people':
      return audience.userIds.has(userId)
    case 'readers':
      return isReader(audience.kind, { isAdmin, isMember: audience.members.has(userId) })
    case 'outsiders':
      return !isAdmin && !audience.members.has(userId)
  }
}

/** Called for each entitled stream that is live. */
type Visit = (stream: OpenStream) => void

/** Finds streams by person, so the cost follows the audience. Only `everyone` and `outsiders` go through all streams. */
export function visitAudience(audience: Judged, { all, people, admins }: OpenStreams, visit: Visit) {
  switch (audience.to) {
    case 'everyone':
      return visitLive(all, visit)
    case 'people':
      for (const userId of audience.userIds) visitLive(people.get(userId)?.streams, visit)
      return
    case 'readers':
      // A large channel may have far more members than people who are connected here.
      if (audience.members.size > people.size) {
        for (const person of people.values()) if (isEntitled(audience, person)) visitLive(person.streams, visit)
        return
      }
      for (const userId of audience.members) visitLive(people.get(userId)?.streams, visit)
      for (const admin of admins) {
        if (!audience.members.has(admin.userId) && isEntitled(audience, admin)) visitLive(admin.streams, visit)
      }
      return
    case 'outsiders':
      for (const stream of all) if (stream.isLive && isEntitled(audience, stream.person)) visit(stream)
  }
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
