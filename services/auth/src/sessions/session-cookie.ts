import { issueTokens, type SessionKey } from '@parley/accounts'
import type { Config } from '@parley/config'
import type { TokenResponse } from '@parley/contract'
import { type Deps, wantsCookie } from '@parley/service'
import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * The attributes of a cookie that only requests below `/auth` carry, and that no script can read. It is Secure when
 * `auth.appUrl`, the address that browsers use, is https. The connection to this process may still be http.
 */
export function authCookieAttributes({ auth }: Pick<Config, 'auth'>) {
  const { protocol, pathname } = new URL(auth.appUrl)
  const path = `${pathname.replace(/\/$/, '')}/auth`
  return { path, httpOnly: true, sameSite: 'strict', secure: protocol === 'https:' } as const
}

/** The cookie that holds a browser's refresh token. */
export function createSessionCookie(config: Pick<Config, 'auth'>) {
  const attributes = authCookieAttributes(config)
  const { secure } = attributes
  const prefix = secure ? '__Secure-' : ''
  const name = `${prefix}parley_session`
  /**
   * A second cookie that scripts can read and that has no secret: the page checks it to know whether it should ask for
   * a session.
   */
  const markName = `${prefix}parley_signed_in`
  const ofMark = { path: new URL(config.auth.appUrl).pathname, sameSite: 'lax', secure } as const

  return {
    /**
     * The refresh token in the cookie; undefined without the header `X-Parley-Session: cookie`. Two cookies of this
     * name count as none, because a neighbouring domain has set one of them, and the server cannot tell which.
     */
    read(request: FastifyRequest): string | undefined {
      if (!wantsCookie(request)) return undefined
      const count = (request.headers.cookie ?? '')
        .split(';')
        .filter((pair) => pair.trim().startsWith(`${name}=`)).length
      return count === 1 ? request.cookies[name] : undefined
    },
    /** @param seconds how long the browser keeps it */
    set(reply: FastifyReply, refreshToken: string, seconds: number): void {
      reply.setCookie(name, refreshToken, { ...attributes, maxAge: seconds })
      reply.setCookie(markName, '1', { ...ofMark, maxAge: seconds })
    },
    clear(reply: FastifyReply): void {
      reply.clearCookie(name, attributes)
      reply.clearCookie(markName, ofMark)
    },
  }
}

/** Issues the tokens of a session. The refresh token is put into the cookie when the request asks for that, and into the body otherwise. */
export function createTokenResponses({ config, tokens }: Pick<Deps, 'config' | 'tokens'>) {
  const cookie = createSessionCookie(config)
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    session: SessionKey,
    { accessSeconds = config.auth.jwtExpirySeconds, asCookie = wantsCookie(request) } = {},
  ): Promise<TokenResponse> => {
    const { refreshToken, ...rest } = await issueTokens(tokens, session, accessSeconds)
    if (!asCookie) return { refreshToken, ...rest }
    cookie.set(reply, refreshToken, Math.max(config.auth.refreshTokenExpirySeconds, accessSeconds))
    return rest
  }
}
