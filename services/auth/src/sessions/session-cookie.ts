import { issueTokens, type SessionKey } from '@parley/accounts'
import type { Config } from '@parley/config'
import type { TokenReply } from '@parley/contract'
import { type Deps, wantsCookie } from '@parley/service'
import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * The cookie that holds a browser's refresh token. It is HttpOnly, so no script can read it, and only requests below `/auth` carry it.
 * Whether it is Secure follows `auth.appUrl`, the address that browsers use: the connection to this process may be another one.
 */
export function createSessionCookie({ auth }: Pick<Config, 'auth'>) {
  const { protocol, pathname } = new URL(auth.appUrl)
  const isSecure = protocol === 'https:'
  const name = `${isSecure ? '__Secure-' : ''}parley_session`
  const attributes = {
    path: `${pathname.replace(/\/$/, '')}/auth`,
    httpOnly: true,
    sameSite: 'strict',
    secure: isSecure,
  } as const

  return {
    /**
     * The refresh token of a request with `X-Parley-Session: cookie`. Requests without the header have none. Two cookies of this name
     * count as none: a neighbouring domain has set one of them, and nobody knows which.
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
    },
    clear(reply: FastifyReply): void {
      reply.clearCookie(name, attributes)
    },
  }
}

/** Issues the tokens of a session. The refresh token goes into the cookie when the request asks for that, and into the body otherwise. */
export function createTokenReplies({ config, tokens }: Pick<Deps, 'config' | 'tokens'>) {
  const cookie = createSessionCookie(config)
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    session: SessionKey,
    { accessSeconds = config.auth.jwtExpirySeconds, asCookie = wantsCookie(request) } = {},
  ): Promise<TokenReply> => {
    const { refreshToken, ...rest } = await issueTokens(tokens, session, accessSeconds)
    if (!asCookie) return { refreshToken, ...rest }
    cookie.set(reply, refreshToken, Math.max(config.auth.refreshTokenExpirySeconds, accessSeconds))
    return rest
  }
}
