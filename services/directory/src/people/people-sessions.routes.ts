import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { deleteToken, endSessions, listSessions, listTokens, lockAsAdmin, type RequestContext } from '@parley/accounts'
import { ApiToken, notFound, Ok, refusals, Session } from '@parley/contract'
import type { Database, Transaction } from '@parley/database'
import { type Deps, logSessionEnd } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { findLiveUser } from './people.queries.ts'

const UserParams = Type.Object({ id: Type.String() })

const ListSessions = {
  summary: 'List the active sessions of a person, newest first',
  params: UserParams,
  response: { 200: Type.Object({ sessions: Type.Array(Session) }), ...refusals(401, 403, 404) },
}

const EndSessions = {
  summary: 'End all sessions of a person',
  description:
    'Their access tokens stop working and their streams end at once. An admin who ends their own sessions keeps the one that makes this request. ' +
    'API tokens keep working, because programs depend on them: `DELETE /users/{id}/tokens/{tokenId}` ends one token. ' +
    '`PUT /users/{id}/active` with `isActive: false` ends all of them.',
  params: UserParams,
  response: {
    200: Type.Object({
      ...Ok.properties,
      ended: Type.Integer({ description: 'How many sessions ended' }),
      tokens: Type.Integer({ description: 'How many API tokens they have. These keep working' }),
    }),
    ...refusals(401, 403, 404),
  },
}

const EndSession = {
  summary: 'End one session of a person',
  params: Type.Object({ id: Type.String(), sessionId: Type.String() }),
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

const ListTokens = {
  summary: 'List the API tokens of a person, newest first',
  params: UserParams,
  response: { 200: Type.Object({ tokens: Type.Array(ApiToken) }), ...refusals(401, 403, 404) },
}

const DeleteToken = {
  summary: 'Delete an API token of a person',
  description: 'It stops working at once, and its streams end.',
  params: Type.Object({ id: Type.String(), tokenId: Type.String() }),
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

/** The sessions and API tokens of other people, for admins. */
export const peopleSessionsRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const access = { access: 'admin' } as const

    app.get('/users/:id/sessions', { schema: ListSessions, config: access }, async ({ caller, params }) => {
      await requireUser(db, params.id)
      const sessions = await listSessions(db, params.id, clock())
      return { sessions: sessions.map((session) => ({ ...session, isCurrent: session.id === caller.sessionId })) }
    })

    app.delete('/users/:id/sessions', { schema: EndSessions, config: access }, async (request) => {
      const { caller, params } = request
      const ended = await end(request, params.id, params.id === caller.userId ? { except: caller.sessionId } : {})
      const tokens = await listTokens(db, params.id, clock())
      return { success: true as const, ended: ended.length, tokens: tokens.length }
    })

    app.delete('/users/:id/sessions/:sessionId', { schema: EndSession, config: access }, async (request) => {
      const { id, sessionId } = request.params
      const ended = await end(request, id, { only: [sessionId] })
      if (ended.length === 0) throw notFound('session')
      return { success: true as const }
    })

    app.get('/users/:id/tokens', { schema: ListTokens, config: access }, async ({ params }) => {
      await requireUser(db, params.id)
      return { tokens: await listTokens(db, params.id, clock()) }
    })

    app.delete('/users/:id/tokens/:tokenId', { schema: DeleteToken, config: access }, async (request) => {
      const { caller, ip, params } = request
      const context = { caller, ip, now: clock() }
      await db.transaction().execute(async (trx) => {
        await lockUserAsAdmin(trx, context, params.id)
        const token = { userId: params.id, tokenId: params.tokenId }
        if (!(await deleteToken(trx, token, context))) throw notFound('token')
      })
      return { success: true as const }
    })

    /** Ends sessions of this person, logs it, and returns their ids. */
    async function end(request: FastifyRequest, userId: string, which: { only?: string[]; except?: string }) {
      const { caller, ip } = request
      const now = clock()
      const sessionIds = await db.transaction().execute(async (trx) => {
        await lockUserAsAdmin(trx, { caller, ip, now }, userId)
        return endSessions(trx, { userId, ...which, reason: 'revoked', actorId: caller.userId, ip, now })
      })
      if (sessionIds.length > 0) logSessionEnd(request, { userId, sessionIds, reason: 'revoked' })
      return sessionIds
    }
  }

/** @throws ApiError 404 when there is no such person. */
async function requireUser(db: Database, userId: string): Promise<void> {
  if (!(await findLiveUser(db, userId))) throw notFound('user')
}

/** @throws ApiError 404 when there is no such person, 401 and 403 as `lockAsAdmin`. */
async function lockUserAsAdmin(trx: Transaction, context: RequestContext, userId: string): Promise<void> {
  const people = await lockAsAdmin(trx, context, userId)
  if (!people.has(userId)) throw notFound('user')
}
