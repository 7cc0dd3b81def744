import type { EphemeralEvent } from '@parley/events'
import type { Logger } from '@parley/telemetry'
import type { OpenStreams } from '../streams/open-streams.ts'
import type { SleepWatch } from '../streams/sleep-watch.ts'
import { visitAudience } from './audience.ts'
import type { Entitlement } from './entitlement.ts'

interface EphemeralParts {
  streams: OpenStreams
  entitlement: Entitlement
  sleep: Pick<SleepWatch, 'untilAwake'>
  logger: Logger
}

/**
 * Writes ephemeral events to the live streams of their audience. An event is dropped when the rights cannot be read. A stream that has
 * unsent data gets no ephemeral event except EPHEMERAL_MESSAGE.
 */
export function createEphemeralDelivery({ streams, entitlement, sleep, logger }: EphemeralParts) {
  async function deliver({ routing, event }: EphemeralEvent): Promise<void> {
    try {
      if (!entitlement.isKnown([{ routing }])) await entitlement.load([{ routing }])
    } catch (err) {
      logger.debug({ err }, 'an ephemeral event was dropped because its audience could not be read')
      return
    }
    await sleep.untilAwake()
    const frame = Buffer.from(`data: ${event}\n\n`)
    // An EPHEMERAL_MESSAGE is sent only once, so streams with unsent data get it too. A client repeats TYPING.
    const isSentOnce = event.startsWith('{"type":"EPHEMERAL_MESSAGE"')
    visitAudience(entitlement.resolveAudience(routing), streams, (stream) => {
      if (isSentOnce) streams.write(stream, frame)
      else if (stream.socket.writableLength === 0) stream.socket.write(frame)
    })
  }

  return { deliver: (event: EphemeralEvent) => void deliver(event) }
}
