import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Config } from '@parley/config'
import { label, type Metrics, metric } from '@parley/telemetry'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ClientLeft } from './client-left.ts'

const everyMs = 1_000
/** Bodies that one client may have on their way at once, when they do not come with their heads. Beyond that the oldest is ended. */
const bodiesOfOne = 32
/** Bytes of replies that wait in memory for one client to read them. */
const unsentBytesOfOne = 64 * 1024 * 1024

/** Whoever the limits count for: a person, or an address where nobody has signed in. */
export const clientOf = (request: FastifyRequest): string => request.claims?.userId ?? request.ip

/**
 * Ends what holds memory and connections because its client is slow: a body that does not come, a reply that is not read. Looks at
 * all of them once a second, so that a request itself costs next to nothing.
 */
export function endSlowClients(app: FastifyInstance, limits: Config['server'], metrics: Metrics): void {
  const cut = metrics.counter(metric.clientsCut)
  const bodies = watchBodies(app, limits, (socket) => {
    cut.with({ [label.reason]: 'slow_body' }).add()
    app.server.emit('clientError', Object.assign(new Error('slow'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket)
  })
  const replies = watchReplies(app, limits, (socket, reason) => {
    cut.with({ [label.reason]: reason }).add()
    socket.destroy()
  })
  const timer = setInterval(() => {
    bodies.look()
    replies.look()
  }, everyMs).unref()
  app.addHook('onClose', async () => clearInterval(timer))
}

interface Body {
  raw: IncomingMessage
  before: number
  came: number
  /** Milliseconds spent waiting for the client: in all, and since something came. */
  waited: number
  silent: number
}

/** Bodies are watched that were not there with the head of their request. */
function watchBodies(
  app: FastifyInstance,
  { bodySeconds, bodyBytesPerSecond }: Config['server'],
  end: (socket: Socket) => void,
) {
  const bodies = new Set<Body>()
  const clients = new Map<string, Set<Body>>()
  let lookedAt = performance.now()

  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const { raw } = request
    if (raw.complete || !hasBody(raw)) return done()
    // It left while the hooks before this one waited, and would never be seen to leave again.
    if (raw.destroyed) return done(new ClientLeft())
    const client = clientOf(request)
    const others = clients.get(client) ?? new Set()
    clients.set(client, others)
    // Not the new one: people behind one address share it, and most bodies come at once.
    if (others.size >= bodiesOfOne) {
      const [oldest] = others
      others.delete(oldest!)
      end(oldest!.raw.socket)
    }
    const body = { raw, before: raw.socket.bytesRead, came: 0, waited: 0, silent: 0 }
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

  function isLate(body: Body, elapsed: number): boolean {
    const { raw } = body
    // Something has come that was not taken yet: the client waits for us.
    if (raw.readableLength > 0) return false
    const came = raw.socket.bytesRead - body.before
    body.silent = came > body.came ? 0 : body.silent + elapsed
    body.came = came
    body.waited += elapsed
    return body.silent > bodySeconds * 1000 || body.waited > (bodySeconds + came / bodyBytesPerSecond) * 1000
  }

  return {
    look() {
      const now = performance.now()
      const elapsed = now - lookedAt
      lookedAt = now
      for (const body of bodies) if (!body.raw.complete && isLate(body, elapsed)) end(body.raw.socket)
    },
  }
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

type ReplySocket = Socket & {
  /** What libuv has not handed to the kernel yet. Not documented, so it may be missing. */
  _handle?: { writeQueueSize?: number } | null
  [owner]?: string
}
const owner = Symbol('owner')

/** All connections are watched; most have nothing unsent, and are passed over. */
function watchReplies(
  app: FastifyInstance,
  { unreadSeconds }: Config['server'],
  end: (socket: Socket, reason: 'unread_reply' | 'unread_bytes') => void,
) {
  const sockets = new Set<ReplySocket>()
  /** How far a client has read, and when it last got further. */
  const behind = new Map<ReplySocket, { read: number; at: number }>()

  app.server.on('connection', (socket: Socket) => void sockets.add(socket))
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    if (request.claims) (request.raw.socket as ReplySocket)[owner] = request.claims.userId
    done()
  })

  return {
    look() {
      const now = performance.now()
      const unsent = new Map<string, ReplySocket[]>()
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

  function endLargest(ofOne: ReplySocket[]) {
    let bytes = ofOne.reduce((sum, { writableLength }) => sum + writableLength, 0)
    if (bytes <= unsentBytesOfOne) return
    for (const socket of ofOne.sort((a, b) => b.writableLength - a.writableLength)) {
      if (bytes <= unsentBytesOfOne) return
      bytes -= socket.writableLength
      end(socket, 'unread_bytes')
    }
  }
}
