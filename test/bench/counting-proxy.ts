import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface CountingProxy {
  port: number
  /** Bytes that the server has sent, including the heads of replies. */
  readonly received: number
  close(): void
}

/** Passes every connection on to a port and counts the bytes that the server sends. */
export async function startCountingProxy(port: number): Promise<CountingProxy> {
  let received = 0
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect({ port, host: '127.0.0.1' })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      socket.on('error', () => {
        client.destroy()
        upstream.destroy()
      })
    }
    upstream.on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    client.pipe(upstream)
    upstream.pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    get received() {
      return received
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
