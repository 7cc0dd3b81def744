import type { EphemeralEvent } from '@parley/events'
import type { Logger } from '@parley/telemetry'
import type { Connections } from './connections.ts'
import type { Entitlement } from './entitlement.ts'
import { visitAudience } from './fan-out.ts'

export interface EphemeralParts {
  connections: Connections
  entitlement: Entitlement
  logger: Logger
}

/**
 * Writes events without a position to the live streams, to the same audience as any other. They are the first to be left
 * out: where rights cannot be read, and for connections that are behind.
 */
export function createEphemeralDelivery({ connections, entitlement, logger }: EphemeralParts) {
  async function deliver({ routing, event }: EphemeralEvent): Promise<void> {
    try {
      if (!entitlement.canJudge([{ routing }])) await entitlement.load([{ routing }])
    } catch (err) {
      logger.debug({ err }, 'an ephemeral event was left out: nobody knows who may see it')
      return
    }
    const frame = Buffer.from(`data: ${event}\n\n`)
    visitAudience(entitlement.judge(routing), connections, ({ socket }) => {
      if (socket.writableLength === 0) socket.write(frame)
    })
  }

  return { deliver: (event: EphemeralEvent) => void deliver(event) }
}
