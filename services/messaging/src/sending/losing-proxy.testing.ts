import { connect, createServer, type Socket } from 'node:net'

/** A TCP proxy in front of PostgreSQL. It can lose a response of the server and close the connection instead. */
export async function losingProxy(serverUrl: string) {
  const target = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let loseWhen: ((toServer: string) => boolean) | undefined
  let lost = () => {}
  const proxy = createServer((client) => {
    const server = connect(Number(target.port), target.hostname)
    let losesReply = false
    client.on('data', (chunk) => {
      if (loseWhen?.(chunk.toString('latin1'))) {
        losesReply = true
        loseWhen = undefined
      }
      server.write(chunk)
    })
    server.on('data', (chunk) => {
      if (!losesReply) return client.write(chunk)
      client.destroy()
      server.destroy()
      lost()
    })
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const url = new URL(serverUrl)
  url.port = String((proxy.address() as { port: number }).port)
  return {
    url: url.href,
    /** Loses the response to the next request that matches. Resolves when it is lost. */
    loseAnswer(matches: (toServer: string) => boolean) {
      loseWhen = matches
      return new Promise<void>((resolve) => {
        lost = resolve
      })
    },
    /** Closes every connection now. */
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}
