import { type Carrier, carryConnections, protocol } from '@parley/multiplex'
import { buildConnector, Client } from 'undici'

/** A replica of an earlier version accepts no carrier. The gateway tries again after this time, because it may have been replaced. */
const retryAfterMs = 30_000

interface CarriedConnections {
  /** Opens a connection to the replica. undici calls it. */
  connect: buildConnector.connector
  close(): void
}

/**
 * Opens the connections to one replica on one carrier, so that everything that is sent within a turn of the event loop goes out in one
 * write. When the replica does not accept the carrier, each connection has a socket of its own.
 */
export function carriedConnections(origin: string, options: buildConnector.BuildOptions): CarriedConnections {
  const connectAlone = buildConnector(options)
  let carrier: Carrier | undefined
  let opening: Promise<Carrier | undefined> | undefined
  let retryAt = 0
  let isClosed = false

  /** Undefined when the replica accepts no carrier. @throws when it cannot be reached. */
  async function openCarrier(): Promise<Carrier | undefined> {
    const client = new Client(origin, { connect: connectAlone })
    try {
      const signal = AbortSignal.timeout(options.timeout ?? 10_000)
      const { socket } = await client.upgrade({ path: '/', method: 'GET', protocol, signal })
      carrier = carryConnections(socket)
      if (isClosed) carrier.destroy()
      return carrier
    } catch (error) {
      // undici reports every status except 101 with this text.
      if ((error as Error).message !== 'bad upgrade') throw error
      retryAt = performance.now() + retryAfterMs
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
      if (performance.now() < retryAt) return connectAlone(target, callback)
      // Never in the same turn of the event loop: undici would not notice that it is connected.
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
