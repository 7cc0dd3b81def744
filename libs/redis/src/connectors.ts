import { SentinelConnector } from 'ioredis'
import { StandaloneConnector } from 'ioredis/built/connectors/index.js'

/*
 * A TLS connection may fail twice: its certificate is refused, and the server sends an alert. ioredis listens to one error of
 * a socket only, and a further one would end the process.
 */

const ignore = () => {}

export class StandaloneSockets extends StandaloneConnector {
  constructor(options: unknown) {
    super(options as ConstructorParameters<typeof StandaloneConnector>[0])
  }

  override async connect(...args: Parameters<StandaloneConnector['connect']>) {
    const socket = await super.connect(...args)
    socket.on('error', ignore)
    return socket
  }
}

export class SentinelSockets extends SentinelConnector {
  constructor(options: unknown) {
    super(options as ConstructorParameters<typeof SentinelConnector>[0])
  }

  override async connect(...args: Parameters<SentinelConnector['connect']>) {
    const socket = await super.connect(...args)
    socket.on('error', ignore)
    return socket
  }
}
