import { type Carrier, carryConnections, protocol } from '@parley/multiplex'
import { buildConnector, Client } from 'undici'

/** A replica of an earlier version carries no connections. It is asked again after this time, because it may have been replaced. */
const askAgainMs = 30_000

export interface CarriedConnections {
  /** Opens a connection to the replica, as undici asks for it. */
  connect: buildConnector.connector
  close(): void
}

/**
 * Connections to one replica that share a single one, so that what is sent to it within a turn of the event loop goes out in one write.
 * Without a word from the replica that it can do this, each has a connection of its own.
 */
export function carriedConnections(origin: string, options: buildConnector.BuildOptions): CarriedConnections {
  const connectAlone = buildConnector(options)
  let carrier: Carrier | undefined
  let opening: Promise<Carrier | undefined> | undefined
  let askAgainAt = 0
  let isClosed = false

  /** Undefined when the replica carries no connections. @throws when it cannot be reached. */
  async function openCarrier(): Promise<Carrier | undefined> {
    const client = new Client(origin, { connect: connectAlone })
    try {
      const signal = AbortSignal.timeout(options.timeout ?? 10_000)
      const { socket } = await client.upgrade({ path: '/', method: 'GET', protocol, signal })
      carrier = carryConnections(socket)
      if (isClosed) carrier.destroy()
      return carrier
    } catch (error) {
      // Anything but 101.
      if ((error as Error).message !== 'bad upgrade') throw error
      askAgainAt = performance.now() + askAgainMs
      return undefined
    } finally {
      client.close().catch(() => {})
    }
  }

  function open() {
    opening ??= openCarrier().finally(() => {
      opening = undefined
    })
    return opening
  }

  return {
    connect(target, callback) {
      if (performance.now() < askAgainAt) return connectAlone(target, callback)
      // Never in the same turn: undici would not notice that it is connected.
      const ready = carrier?.canOpen ? Promise.resolve(carrier) : open()
      ready.then(
        (opened) => {
          if (opened) callback(null, opened.open() as never)
          else connectAlone(target, callback)
        },
        (error) => callback(error, null),
      )
    },
    close() {
      isClosed = true
      carrier?.destroy()
    },
  }
}
