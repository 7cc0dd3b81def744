import { type TokenScope, unauthorized } from '@parley/contract'
import type { Database } from '@parley/database'
import {
  type AccessClaims,
  type Caller,
  createTokenUses,
  findCaller,
  requireAdmin,
  requireScope,
  type Tokens,
} from '@parley/identity'
import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify'

/**
 * Who may call a route:
 * - `user`, the default: everybody who is signed in. `request.caller` is the user and session as they are in the
 *   database now.
 * - `admin`: the same, but only admins.
 * - `token`: the signature is checked and `request.claims` is set. The route's own first statement checks the session.
 *   The session of an API token is checked before.
 * - `claims`: only for the gateway. The token is read and `request.claims` is set. The service that gets the request
 *   checks the session.
 * - `none`: everybody. The route itself checks credentials, if it needs any.
 */
export type Access = 'user' | 'admin' | 'token' | 'claims' | 'none'

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /** Whether sessions may call the route that must set up a second factor first. */
    mayEnrol?: boolean
    /**
     * Whether a request with the session cookie needs no access token. The route then checks the cookie itself, and
     * `request.caller` is null.
     */
    orCookie?: boolean
    /** The scope that an API token needs, where `tokenScopeOf` does not derive the right one. */
    tokenScope?: TokenScope | 'none'
  }
  interface FastifyRequest {
    /** Set on routes with access `user` and `admin`. */
    caller: Caller
    /** Set on routes with access `user`, `admin`, `token` and `claims`. */
    claims: AccessClaims
  }
}

/**
 * Identifies the caller before the body is read. When the body arrives later than the head, the caller is identified
 * again after it, so that nobody can keep a lost right by delaying the end of a request.
 */
export function identifyCallers(
  app: FastifyInstance,
  { db, tokens, clock }: { db: Database; tokens: Tokens; clock: () => number },
): void {
  app.decorateRequest('caller', null as unknown as Caller)
  app.decorateRequest('claims', null as unknown as AccessClaims)
  const unfinished = new WeakSet<FastifyRequest>()
  const tokenUses = createTokenUses(db, clock)

  app.addHook('onRequest', async (request) => {
    if (request.is404) return
    const { access = 'user', orCookie } = request.routeOptions.config
    if (access === 'none') return
    if (orCookie && wantsCookie(request) && request.headers.authorization === undefined) return
    request.claims = await tokens.verifyAccess(bearerToken(request))
    if (access === 'claims' || (access === 'token' && !request.claims.tokenHash)) return
    await loadCaller(request)
    if (request.claims.tokenHash) await admitToken(request)
    if (access !== 'token' && !request.raw.complete) unfinished.add(request)
  })
  app.addHook('preValidation', async (request) => {
    if (unfinished.has(request)) await loadCaller(request)
  })

  async function loadCaller(request: FastifyRequest) {
    const { access, mayEnrol } = request.routeOptions.config
    request.caller = await findCaller(db, request.claims, clock(), { mayEnrol })
    if (access === 'admin') requireAdmin(request.caller)
  }

  async function admitToken({ caller, claims, method, routeOptions }: FastifyRequest) {
    tokens.noteGenuine(claims)
    await tokenUses.note(caller.sessionId)
    requireScope(caller, tokenScopeOf(method, routeOptions))
  }
}

/**
 * The scope that an API token needs for a route: `admin` for routes of admins, else `read` for GET and HEAD, and
 * `write` for all others. Routes below `/auth/` accept no API token, because nobody may sign in with one, or change how
 * somebody signs in.
 */
export function tokenScopeOf(
  method: string,
  { url = '', config = {} }: { url?: string; config?: FastifyContextConfig },
): TokenScope | 'none' {
  if (config.tokenScope) return config.tokenScope
  if (url.startsWith('/auth/')) return 'none'
  if (config.access === 'admin') return 'admin'
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write'
}

/**
 * Whether a request uses the session cookie. A page of another origin cannot send this header unless CORS allows it, so
 * the header protects against forged requests (CSRF).
 */
export const wantsCookie = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  headers['x-parley-session'] === 'cookie'

/** The token of `Authorization: Bearer …`. @throws ApiError 401 when there is none. */
export function bearerToken({ headers }: Pick<FastifyRequest, 'headers'>): string {
  const [, token] = /^Bearer +([^\s]+) *$/i.exec(headers.authorization ?? '') ?? []
  if (!token) throw unauthorized()
  return token
}
