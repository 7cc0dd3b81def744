import { randomInt } from 'node:crypto'
import { Socket } from 'node:net'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { invalid, refusals, unavailable } from '@parley/contract'
import type { Feed } from '@parley/events'
import { type Caller, createSharedCallers } from '@parley/identity'
import { bearerToken, type Deps } from '@parley/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Connection, Connections } from './connections.ts'
import { readCursor, writeCursor } from './cursor.ts'
import { detachSocket } from './detached-socket.ts'
import type { Entitlement } from './entitlement.ts'
import type { FanOut } from './fan-out.ts'
import type { Place, Places } from './presence/places.ts'
import type { Resume, Start } from './resume.ts'
import { readUnchanged } from './unchanged.ts'

const OpenStream = {
  summary: 'Follow everything that happens, as server-sent events',
  description:
    'Each event is `data: {"type", "payload"}` and an `id`. The first is CONNECTED. A client that comes back with the ' +
    'last `id` (header `Last-Event-ID` or `lastEventId`) receives what it missed; where that is impossible, CONNECTED ' +
    'says `resumed: false` and the client fetches everything anew.',
  querystring: Type.Object({
    token: Type.Optional(Type.String({ description: 'Access token, for clients that cannot send a header' })),
    lastEventId: Type.Optional(Type.String({ description: 'Where to go on; the header Last-Event-ID wins' })),
  }),
  headers: Type.Object({ 'last-event-id': Type.Optional(Type.String()) }),
  security: [{ accessToken: [] }],
  response: {
    200: { description: 'The stream', content: { 'text/event-stream': { schema: Type.String() } } },
    ...refusals(400, 401, 429, 503),
  },
}
interface Query {
  token?: string
  lastEventId?: string
}

export interface StreamParts {
  connections: Connections
  places: Places
  entitlement: Entitlement
  fanOut: FanOut
  resume: Resume
  feed: () => Feed
  hasBegun: () => boolean
  isClosing: () => boolean
}

export const streamRoutes =
  (deps: Deps, parts: StreamParts): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { connections, places, entitlement, fanOut, resume, feed, hasBegun, isClosing } = parts
    const callers = createSharedCallers(deps.db, deps.clock)
    const rightsVersion = () => `${entitlement.changes} ${feed().epoch}`

    app.get(
      '/events',
      { schema: OpenStream, config: { access: 'none' }, exposeHeadRoute: false },
      async (request, reply) => {
        const claims = await deps.tokens.verifyAccess(request.query.token ?? bearerToken(request))
        if (!hasBegun()) throw unavailable('This server is starting. Please connect again')
        const cursor = readCursor(lastEventId(request))
        let place: Place | undefined
        try {
          // A change of rights that this node applies while they are read would be missed otherwise: the stream is not here yet.
          const { caller, found } = await readUnchanged(rightsVersion, async () => {
            const caller = await callers.find(claims)
            connections.checkRoom(caller.userId)
            place ??= await places.claim(caller.userId)
            return { caller, found: await resume.findStart(cursor) }
          })

          // From here to the end nothing is awaited: position, rights and live delivery belong to one moment.
          return open(request, reply, caller, found)
        } finally {
          place?.leave()
        }
      },
    )

    // The answer to GET has no end, so this one cannot be made from it.
    const { querystring, headers } = OpenStream
    app.head(
      '/events',
      { schema: { querystring, headers, hide: true }, config: { access: 'none' } },
      async (request, reply) => {
        await callers.find(await deps.tokens.verifyAccess(request.query.token ?? bearerToken(request)))
        return reply.headers(streamHeaders).send()
      },
    )

    function open(request: FastifyRequest, reply: FastifyReply, caller: Caller, found: Start | null) {
      if (isClosing()) throw unavailable('This server is stopping. Please connect again')
      connections.checkRoom(caller.userId)
      const { socket } = request.raw
      if (!(socket instanceof Socket)) throw invalid('The event stream needs a connection of its own')
      reply.hijack()
      // Asked for behind another request, answered or not: a stream has its connection to itself, there is no way to answer.
      if (reply.raw.socket !== socket || connections.isTaken(socket)) socket.destroy()
      if (socket.destroyed) return reply
      const start = found ?? { after: fanOut.position(), page: null }
      const cursorNow = writeCursor({ epoch: feed().epoch, pos: start.after })
      detachSocket(socket, reply.raw)
      const connection = connections.add(socket, caller)
      // One write, with what it missed where that is in memory.
      socket.cork()
      socket.write(headOf(reply) + greeting(connection, found !== null, cursorNow))
      void resume.replay(connection, start)
      process.nextTick(uncork, socket)
      return reply
    }
  }

const uncork = (socket: Socket) => socket.uncork()

function lastEventId({ headers, query }: FastifyRequest<{ Querystring: Query }>): string | undefined {
  const header = headers['last-event-id']
  return typeof header === 'string' && header !== '' ? header : query.lastEventId
}

const streamHeaders = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' }

/** The reply ends with its connection, so frames need no chunk of their own and are the same bytes on every stream. */
function headOf(reply: FastifyReply): string {
  const headers = {
    ...reply.getHeaders(),
    ...streamHeaders,
    date: new Date().toUTCString(),
    connection: 'close',
  }
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((each) => `${name}: ${each}\r\n`))
  return `HTTP/1.1 200 OK\r\n${lines.join('')}\r\n`
}

function greeting({ id, person }: Connection, resumed: boolean, cursor: string): string {
  const event = {
    type: 'CONNECTED',
    payload: {
      message: 'Connected to the event stream',
      timestamp: new Date().toISOString(),
      userId: person.userId,
      connectionId: id,
      resumed,
    },
  }
  // Clients come back spread out, not all at the same moment.
  return `retry: ${randomInt(1_000, 4_000)}\n\ndata: ${JSON.stringify(event)}\nid: ${cursor}\n\n`
}
