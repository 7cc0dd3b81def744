import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { FollowedThread, limits, PageLimit, refusals, ThreadReadState } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { MessageParams } from '../messages.schema.ts'
import { changeFollowing, markThreadRead, markThreadsRead } from './follow-changes.ts'
import { countUnreadThreads, listFollowed } from './followed-threads.queries.ts'

const threadsOfPage = 25
const unreadThreads = Type.Integer({ description: 'The number of all followed threads with unread replies' })

const ListThreads = {
  summary: 'List the threads that the caller follows, newest reply first',
  description:
    'People follow the threads of messages that they have written, once there is a reply, and threads in which they reply or which mention ' +
    'them by name, until they stop. Threads that the caller cannot read any more, and those without replies, are not listed.',
  querystring: Type.Object({
    limit: PageLimit(threadsOfPage),
    before: Type.Optional(
      Type.String({ description: 'Id of the message of the last thread of the page before: the threads after it' }),
    ),
    unread: Type.Optional(Type.Enum(['true', 'false'], { description: '`true`: only threads with unread replies' })),
  }),
  response: {
    200: Type.Object({
      threads: Type.Array(FollowedThread),
      hasMore: Type.Boolean({ description: 'Whether there are further threads' }),
      unreadThreads,
    }),
    ...refusals(400, 401),
  },
}

const FollowThread = {
  summary: 'Follow the replies to a channel message, or stop to follow them',
  description:
    'Everything up to now counts as read. Somebody who has stopped follows again once they reply or a reply mentions them by name. The ' +
    'caller’s other streams get the event THREAD_READ_UPDATE.',
  params: MessageParams,
  body: Type.Object({ isFollowing: Type.Boolean() }),
  response: { 200: ThreadReadState, ...refusals(400, 401, 403, 404) },
}

const ReadThread = {
  summary: 'Mark the replies to a channel message as read',
  description:
    'The position never moves back. The caller’s other streams get the event THREAD_READ_UPDATE. Nothing is stored for somebody who has ' +
    'never followed the thread.',
  params: MessageParams,
  body: Type.Object({
    seq: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'seq of the newest reply that was read. A number above the newest seq means the newest reply',
    }),
  }),
  response: { 200: ThreadReadState, ...refusals(400, 401, 403, 404) },
}

const ReadThreads = {
  summary: 'Mark all followed threads as read',
  description:
    'A thread with a later reply than `until` stays unread, with all its replies. The caller’s other streams get one event ' +
    'THREAD_READ_UPDATE for each thread that was unread.',
  body: Type.Object({
    until: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: '`createdAt` of the newest reply that the caller knows. A later time means all replies up to now',
    }),
  }),
  response: { 200: Type.Object({ unreadThreads }), ...refusals(400, 401) },
}

export const followRoutes =
  ({ db }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const thread = '/messages/:messageId/thread'

    app.get('/threads', { schema: ListThreads }, async ({ caller, query }) => {
      const { before, unread } = query
      const limit = Math.min(query.limit, limits.pageSize)
      const page = await listFollowed(db, caller, { limit, before, isUnread: unread === 'true' })
      return { ...page, unreadThreads: await countUnreadThreads(db, caller) }
    })

    app.put('/threads/read', { schema: ReadThreads }, async ({ caller, body }) => ({
      unreadThreads: await markThreadsRead(db, caller, body.until),
    }))

    app.put(`${thread}/follow`, { schema: FollowThread }, ({ caller, params, body }) =>
      changeFollowing(db, caller, params.messageId, body.isFollowing),
    )

    app.put(`${thread}/read`, { schema: ReadThread }, ({ caller, params, body }) =>
      markThreadRead(db, caller, params.messageId, body.seq),
    )
  }
