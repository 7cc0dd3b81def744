import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Config } from '@parley/config'
import { label, type Metrics, metric } from '@parley/telemetry'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ClientLeft } from './responses.ts'

const intervalMs = 1_000
/**
 * The largest number of unfinished bodies of one client. Bodies that arrive with their heads do not count. With one
 * more the oldest is ended.
 */
const maxBodies = 32
/** The largest number of bytes of responses in memory that one client has not read yet. */
const maxUnsentBytes = 64 * 1024 * 1024

/** The client for whom a limit counts: the user, or the address when the user is not verified yet. */
export const clientOf = ({ claims, ip }: FastifyRequest): string => (claims?.isGenuine ? claims.userId : ip)

/**
 * Ends requests whose client is too slow and holds memory and connections: a body does not arrive, or a response is not
 * read. All requests are checked together once a second, so that the cost for each request is very low.
 */
export function endSlowClients(app: FastifyInstance, limits: Config['server'], metrics: Metrics): void {
  const cut = metrics.counter(metric.clientsCut)
  const bodies = watchBodies(app, limits, (socket) => {
    cut.with({ [label.reason]: 'slow_body' }).add()
    app.server.emit('clientError', Object.assign(new Error('slow'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket)
  })
  const responses = watchResponses(app, limits, (socket, reason) => {
    cut.with({ [label.reason]: reason }).add()
    socket.destroy()
  })
  const timer = setInterval(() => {
    bodies.check()
    responses.check()
  }, intervalMs).unref()
  app.addHook('onClose', async () => clearInterval(timer))
}

interface Body {
  raw: IncomingMessage
  /** The bytes that the connection had received before this body. */
  bytesBefore: number
  /** The bytes of this body that had arrived at the last check. */
  bytesReceived: number
  /** Time spent waiting for the client: in total, and since the last bytes. */
  waitedMs: number
  silentMs: number
}

/** Watches the bodies that did not arrive with the head of their request. */
function watchBodies(
  app: FastifyInstance,
  { bodySeconds, bodyBytesPerSecond }: Config['server'],
  end: (socket: Socket) => void,
) {
  const bodies = new Set<Body>()
  const clients = new Map<string, Set<Body>>()
  let checkedAt = performance.now()

  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const { raw } = request
    if (raw.complete || !hasBody(raw)) return done()
    // The client left during earlier hooks. Its close event was emitted already and could not end the watch.
    if (raw.destroyed) return done(new ClientLeft())
    const client = clientOf(request)
    const others = clients.get(client) ?? new Set()
    clients.set(client, others)
    // The oldest body is ended and not the new one, because people behind one address share the limit, and most bodies
    // arrive quickly.
    if (others.size >= maxBodies) {
      const [oldest] = others
      others.delete(oldest!)
      end(oldest!.raw.socket)
    }
    const body = { raw, bytesBefore: raw.socket.bytesRead, bytesReceived: 0, waitedMs: 0, silentMs: 0 }
    bodies.add(body)
    others.add(body)
    const leave = () => {
      bodies.delete(body)
      others.delete(body)
      if (others.size === 0 && clients.get(client) === others) clients.delete(client)
    }
    raw.once('end', leave).once('close', leave)
    done()
  })

  function isLate(body: Body, elapsedMs: number): boolean {
    const { raw } = body
    // Bytes have arrived that are not read yet, so the client waits for the server.
    if (raw.readableLength > 0) return false
    const received = raw.socket.bytesRead - body.bytesBefore
    body.silentMs = received > body.bytesReceived ? 0 : body.silentMs + elapsedMs
    body.bytesReceived = received
    body.waitedMs += elapsedMs
    return body.silentMs > bodySeconds * 1000 || body.waitedMs > (bodySeconds + received / bodyBytesPerSecond) * 1000
  }

  return {
    check() {
      const now = performance.now()
      const elapsedMs = now - checkedAt
      checkedAt = now
      for (const body of bodies) if (!body.raw.complete && isLate(body, elapsedMs)) end(body.raw.socket)
    },
  }
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

type ResponseSocket = Socket & {
  /** Bytes that libuv has not passed to the kernel yet. The property is undocumented, so it may be missing. */
  _handle?: { writeQueueSize?: number } | null
  [owner]?: string
}
const owner = Symbol('owner')

/** Watches all connections. Most have nothing unsent and are skipped. */
function watchResponses(
  app: FastifyInstance,
  { unreadSeconds }: Config['server'],
  end: (socket: Socket, reason: 'unread_reply' | 'unread_bytes') => void,
) {
  const sockets = new Set<ResponseSocket>()
  /** How many bytes a client has read, and when that number last grew. */
  const behind = new Map<ResponseSocket, { read: number; at: number }>()

  app.server.on('connection', (socket: Socket) => void sockets.add(socket))
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    if (request.claims?.isGenuine) (request.raw.socket as ResponseSocket)[owner] = request.claims.userId
    done()
  })

  return {
    check() {
      const now = performance.now()
      const unsent = new Map<string, ResponseSocket[]>()
      for (const socket of sockets) {
        if (socket.destroyed) sockets.delete(socket)
        if (socket.destroyed || socket.writableLength === 0) {
          behind.delete(socket)
          continue
        }
        const read = socket.bytesWritten - socket.writableLength - (socket._handle?.writeQueueSize ?? 0)
        const known = behind.get(socket)
        if (known?.read !== read) behind.set(socket, { read, at: now })
        else if (now - known.at > unreadSeconds * 1000) end(socket, 'unread_reply')
        const client = socket[owner] ?? socket.remoteAddress ?? ''
        const others = unsent.get(client)
        if (others) others.push(socket)
        else unsent.set(client, [socket])
      }
      for (const each of unsent.values()) endLargest(each)
    },
  }

  function endLargest(ofClient: ResponseSocket[]) {
    let bytes = ofClient.reduce((sum, { writableLength }) => sum + writableLength, 0)
    if (bytes <= maxUnsentBytes) return
    for (const socket of ofClient.sort((a, b) => b.writableLength - a.writableLength)) {
      if (bytes <= maxUnsentBytes) return
      bytes -= socket.writableLength
      end(socket, 'unread_bytes')
    }
  }
}
