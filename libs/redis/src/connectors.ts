import { SentinelConnector } from 'ioredis'
import { StandaloneConnector } from 'ioredis/built/connectors/index.js'

/**
 * A TLS connection may fail twice: its certificate is refused, and the server sends an alert. ioredis listens to one error of
 * a socket only, and a further one would end the process.
 */
async function withListener<Socket extends { on(event: 'error', listener: () => void): unknown }>(
  connecting: Promise<Socket>,
): Promise<Socket> {
  const socket = await connecting
  socket.on('error', () => {})
  return socket
}

export class StandaloneSockets extends StandaloneConnector {
  constructor(options: unknown) {
    super(options as ConstructorParameters<typeof StandaloneConnector>[0])
  }

  override connect(...args: Parameters<StandaloneConnector['connect']>) {
    return withListener(super.connect(...args))
  }
}

/** The method of ioredis that opens a connection to a Sentinel. Its type is private. */
interface ToSentinels {
  connectToSentinel(endpoint: object, options?: object): unknown
}

export class SentinelSockets extends SentinelConnector {
  constructor(options: unknown) {
    super(options as ConstructorParameters<typeof SentinelConnector>[0])
    const own = this as unknown as ToSentinels
    const connectToSentinel = own.connectToSentinel.bind(this)
    own.connectToSentinel = (endpoint, more) => connectToSentinel(endpoint, { ...more, Connector: StandaloneSockets })
  }

  override connect(...args: Parameters<SentinelConnector['connect']>) {
    return withListener(super.connect(...args))
  }
}
