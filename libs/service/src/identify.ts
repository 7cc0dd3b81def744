import { unauthorized } from '@parley/contract'
import type { Database } from '@parley/database'
import { type AccessClaims, type Caller, findCaller, requireAdmin, type Tokens } from '@parley/identity'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/**
 * Who may call a route:
 * - `user`, the default: everybody who is signed in; `request.caller` is the user and session as the database has them now.
 * - `admin`: the same, with the admin flag.
 * - `token`: the signature is checked and `request.claims` set; the route's own first statement checks the session.
 * - `none`: everybody; the route itself checks credentials, if it needs any.
 */
export type Access = 'user' | 'admin' | 'token' | 'none'

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /**
     * Whether a request for the session cookie may come without an access token. The route then checks the cookie itself, and
     * `request.caller` is null.
     */
    orCookie?: boolean
  }
  interface FastifyRequest {
    /** Set on routes with access `user` and `admin`. */
    caller: Caller
    /** Set on routes with access `user`, `admin` and `token`. */
    claims: AccessClaims
  }
}

/**
 * Identifies the caller before the body is read. When the body arrives later than the head, the caller is identified again after it, so
 * that nobody keeps a lost right by holding back the end of a request.
 */
export function identifyCallers(
  app: FastifyInstance,
  { db, tokens, clock }: { db: Database; tokens: Tokens; clock: () => number },
): void {
  app.decorateRequest('caller', null as unknown as Caller)
  app.decorateRequest('claims', null as unknown as AccessClaims)
  const unfinished = new WeakSet<FastifyRequest>()

  app.addHook('onRequest', async (request) => {
    if (request.is404) return
    const { access = 'user', orCookie } = request.routeOptions.config
    if (access === 'none') return
    if (orCookie && wantsCookie(request) && request.headers.authorization === undefined) return
    request.claims = await tokens.verifyAccess(bearerToken(request))
    if (access === 'token') return
    await loadCaller(request, access)
    if (!request.raw.complete) unfinished.add(request)
  })
  app.addHook('preValidation', async (request) => {
    if (unfinished.has(request)) await loadCaller(request, request.routeOptions.config.access)
  })

  async function loadCaller(request: FastifyRequest, access: Access | undefined) {
    request.caller = await findCaller(db, request.claims, clock())
    if (access === 'admin') requireAdmin(request.caller)
  }
}

/**
 * Whether a request uses the session cookie. No page of another origin can send this header without CORS consent, so it protects
 * against forged requests (CSRF).
 */
export const wantsCookie = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  headers['x-parley-session'] === 'cookie'

/** The token of `Authorization: Bearer …`. @throws ApiError 401 when there is none. */
export function bearerToken({ headers }: Pick<FastifyRequest, 'headers'>): string {
  const [, token] = /^Bearer +([^\s]+) *$/i.exec(headers.authorization ?? '') ?? []
  if (!token) throw unauthorized()
  return token
}
