import { Socket } from 'node:net'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { invalid, refusals, unavailable } from '@parley/contract'
import { isRowId, uuidv7 } from '@parley/database'
import { type Feed, readCursor } from '@parley/events'
import { type AccessClaims, type Caller, createSharedCallers, createTokenUses } from '@parley/identity'
import { bearerToken, type Deps } from '@parley/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { ConsumerStreams } from '../consumers/consumer-streams.ts'
import { claimConsumer } from '../consumers/consumers.queries.ts'
import { ConsumerName, requireBot, tooManyConsumers } from '../consumers/consumers.routes.ts'
import type { Entitlement } from '../delivery/entitlement.ts'
import type { FanOut } from '../delivery/fan-out.ts'
import type { Resume, Start } from '../delivery/resume.ts'
import type { StreamSlot, StreamSlots } from '../presence/stream-slots.ts'
import { greeting, responseHead, streamHeaders } from '../streams/frames.ts'
import type { KnownChannels } from '../streams/known-channels.ts'
import type { OpenStreams } from '../streams/open-streams.ts'
import type { SleepWatch } from '../streams/sleep-watch.ts'
import type { Follower, StreamView } from '../streams/stream.ts'
import { detachSocket } from '../streams/stream-socket.ts'
import { readUnchanged } from './read-unchanged.ts'

const maxWatched = 50

const OpenEvents = {
  summary: 'Follow all events, as server-sent events',
  description:
    'Each event is `data: {"type", "payload"}` and an `id`. The first event is CONNECTED. A client that reconnects with the ' +
    'last `id` (header `Last-Event-ID` or `lastEventId`) gets the events that it missed. Where that is impossible, CONNECTED ' +
    'has `resumed: false`, and the client must fetch everything again. Streams of guests are like those with scope=joined, but without ' +
    '`watch`, and without events about people with whom they share no channel.',
  querystring: Type.Object({
    token: Type.Optional(Type.String({ description: 'Access token, for clients that cannot send a header' })),
    lastEventId: Type.Optional(
      Type.String({ description: 'The last `id`, after which the stream continues. The header Last-Event-ID wins' }),
    ),
    scope: Type.Optional(
      Type.Enum(['all', 'joined'], {
        default: 'all',
        description:
          'joined: only events of channels that the person has joined and of those in `watch`, and messages that mention the person by name',
      }),
    ),
    watch: Type.Optional(
      Type.String({
        description: `With scope=joined: ids of at most ${maxWatched} channels to follow without having joined them, separated by commas`,
      }),
    ),
    consumer: Type.Optional({
      ...ConsumerName,
      description:
        'For bots: the server keeps the cursor of this name, which `PUT /consumers/:name` updates. The stream begins after it, also outside the ' +
        'usual replay window. A new name begins now. A second stream of a name ends the first one. A given last id wins.',
    }),
    presence: Type.Optional(Type.Enum(['all', 'none'], { default: 'all', description: 'none: no PRESENCE_UPDATE' })),
  }),
  headers: Type.Object({ 'last-event-id': Type.Optional(Type.String()) }),
  security: [{ accessToken: [] }],
  response: {
    200: { description: 'The stream', content: { 'text/event-stream': { schema: Type.String() } } },
    ...refusals(400, 401, 403, 429, 503),
  },
}
type Query = Static<typeof OpenEvents.querystring>

interface StreamParts {
  streams: OpenStreams
  slots: StreamSlots
  channels: KnownChannels
  entitlement: Entitlement
  fanOut: FanOut
  resume: Resume
  consumers: ConsumerStreams
  sleep: SleepWatch
  feed: Feed
  hasBegun: () => boolean
  isClosing: () => boolean
}

export const streamRoutes =
  (deps: Deps, parts: StreamParts): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { streams, slots, channels, entitlement, fanOut, resume, consumers, sleep, feed, hasBegun, isClosing } = parts
    const callers = createSharedCallers(deps.db, deps.clock)
    const tokenUses = createTokenUses(deps.db, deps.clock)
    const rightsVersion = () => `${entitlement.changes} ${feed.epoch} ${sleep.wakings}`

    app.get(
      '/events',
      { schema: OpenEvents, config: { access: 'none' }, exposeHeadRoute: false },
      async (request, reply) => {
        const claims = await deps.tokens.verifyAccess(request.query.token ?? bearerToken(request))
        if (!hasBegun()) throw unavailable('This server is starting. Please connect again')
        const cursor = readCursor(lastEventId(request))
        const { scope, presence, consumer: name } = request.query
        const watched = readWatched(request.query.watch)
        const consumer = name === undefined ? undefined : { name, streamId: uuidv7() }
        const needsFollower = ({ role }: Caller) => scope === 'joined' || role === 'guest'
        let follower: Follower | null = null
        let slot: StreamSlot | undefined
        try {
          // The stream is not registered yet, so it would miss a change of rights that this node applies meanwhile.
          const { caller, start } = await readUnchanged(rightsVersion, async () => {
            const caller = await callers.find(claims)
            // Every scope includes `read`, which is sufficient here.
            if (claims.tokenHash) await noteToken(claims)
            streams.checkRoom(caller.userId)
            slot ??= await slots.claim(caller.userId)
            if (needsFollower(caller)) follower ??= await channels.follow(caller.userId)
            const stored = consumer && (await claimPosition(caller.userId, consumer))
            const start = await resume.findStart(cursor ?? stored ?? null, { isConsumer: stored !== undefined })
            await sleep.untilAwake()
            return { caller, start }
          })

          // From here on nothing is awaited, so position, rights and live delivery belong to the same moment.
          const view = {
            follower: needsFollower(caller) ? follower : null,
            watched,
            wantsPresence: presence !== 'none',
          }
          return openStream(request, reply, { caller, start, view, consumer })
        } finally {
          slot?.release()
          if (follower) channels.endOpening(follower)
        }
      },
    )

    // The response to GET never ends, so Fastify cannot derive HEAD from it.
    const { querystring, headers } = OpenEvents
    app.head(
      '/events',
      { schema: { querystring, headers, hide: true }, config: { access: 'none' } },
      async (request, reply) => {
        await callers.find(await deps.tokens.verifyAccess(request.query.token ?? bearerToken(request)))
        return reply.headers(streamHeaders).send()
      },
    )

    async function noteToken(claims: AccessClaims) {
      deps.tokens.noteGenuine(claims)
      await tokenUses.note(claims.sessionId)
    }

    /**
     * The stored position of the consumer. Its earlier streams end. @throws ApiError 403 for people, 400 when there are
     * too many consumers.
     */
    async function claimPosition(userId: string, { name, streamId }: ConsumerStream) {
      await requireBot(deps.db, userId)
      const now = { epoch: feed.epoch, pos: fanOut.position(), at: deps.clock() }
      const stored = await claimConsumer(deps.db, { userId, name }, streamId, now)
      if (!stored) throw tooManyConsumers()
      return stored
    }

    function openStream(request: FastifyRequest, reply: FastifyReply, { caller, start, view, consumer }: Opening) {
      if (isClosing()) throw unavailable('This server is stopping. Please connect again')
      streams.checkRoom(caller.userId)
      const { socket } = request.raw
      if (!(socket instanceof Socket)) throw invalid('The event stream needs a connection of its own')
      reply.hijack()
      // A request that is pipelined behind another one cannot be answered, because a stream needs a connection of its
      // own.
      if (reply.raw.socket !== socket || streams.isTaken(socket)) socket.destroy()
      if (socket.destroyed) return reply
      const begin = start ?? { after: fanOut.position(), page: null }
      detachSocket(socket, reply.raw)
      const stream = streams.add(socket, caller, view)
      if (consumer) consumers.add(consumer.streamId, stream)
      // The head and the missed events, if they are in memory, are sent in one write.
      socket.cork()
      const at = { epoch: feed.epoch, pos: begin.after }
      socket.write(responseHead(reply) + greeting(stream, { isResumed: start !== null, cursor: at }))
      void resume.replay(stream, begin)
      process.nextTick(uncork, socket)
      return reply
    }
  }

/** A stream of a consumer, before it is open. */
interface ConsumerStream {
  /** The name of the consumer. */
  name: string
  streamId: string
}

/** What is known of a stream when it is opened. */
interface Opening {
  caller: Caller
  /** Where it resumes; null when it begins with the next event. */
  start: Start | null
  view: StreamView
  consumer: ConsumerStream | undefined
}

const uncork = (socket: Socket) => socket.uncork()

/**
 * Reads the ids in `watch`. Texts that cannot be ids are left out. Ids of unknown or unreadable channels have no
 * effect. @throws ApiError 400 when there are too many.
 */
function readWatched(text = ''): string[] {
  const ids = [...new Set(text.split(',').filter((id) => id !== ''))]
  if (ids.length > maxWatched) throw invalid(`watch must have at most ${maxWatched} ids`)
  return ids.filter(isRowId)
}

function lastEventId({ headers, query }: FastifyRequest<{ Querystring: Query }>): string | undefined {
  const header = headers['last-event-id']
  return typeof header === 'string' && header !== '' ? header : query.lastEventId
}
