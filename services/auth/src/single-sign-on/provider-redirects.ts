import { auditFailedSignIn, type SignInMethod, type StartedSession } from '@parley/accounts'
import { isLoopbackHost } from '@parley/config'
import { type Deps, logSignIn } from '@parley/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createTokenResponses } from '../sessions/session-cookie.ts'
import type { SignInOrigin } from '../sessions/sign-in.ts'
import { asSignInFailure, type SignInFailure, type SignInFailureCode } from './sign-in-failure.ts'

/**
 * The audited failures: the provider had identified a person. Anybody can cause the other failures with one request, so
 * they are not audited.
 */
const audited = new Set<SignInFailureCode>([
  'no_verified_email',
  'unusable_email',
  'domain_not_allowed',
  'already_linked',
  'not_invited',
  'account_deactivated',
  'sign_in_failed',
])

interface ProviderSignIn {
  providerId: string
  method: SignInMethod
  origin: SignInOrigin
  /** Whether the session goes into the cookie instead of the address. */
  asCookie: boolean
  /** Rejects with a `SignInFailure` when the sign-in failed. */
  finished: Promise<StartedSession>
}

export type ProviderRedirects = ReturnType<typeof createProviderRedirects>

/** Redirects browsers from a provider to the application: with tokens, with a failure, or with only the session cookie. */
export function createProviderRedirects(deps: Deps) {
  const { db, config, logger } = deps
  const respondWithTokens = createTokenResponses(deps)
  const home = `${config.auth.appUrl}/`

  function logFailure({ code, cause }: SignInFailure, { id: requestId }: FastifyRequest, provider: string) {
    const level = code.startsWith('provider_') ? 'warn' : 'info'
    logger[level]({ requestId, provider, code, err: cause }, 'a sign-in through a provider failed')
  }

  /** The query that tells the application about the failure. */
  async function readFailure(thrown: unknown, request: FastifyRequest, answer: ProviderSignIn) {
    const { providerId, method, origin } = answer
    const failure = asSignInFailure(thrown)
    logFailure(failure, request, providerId)
    if (audited.has(failure.code)) {
      const failed = { method, reason: failure.code, userId: failure.userId }
      await db.transaction().execute((trx) => auditFailedSignIn(trx, { ...failed, ...origin }))
    }
    return queryOf(failure)
  }

  return {
    home,
    /** The address of the application for a sign-in that could not begin. */
    failureUrl(thrown: unknown, request: FastifyRequest, providerId: string): string {
      const failure = asSignInFailure(thrown)
      logFailure(failure, request, providerId)
      return `${home}?${new URLSearchParams(queryOf(failure))}`
    },
    /** Sends the browser to the application when the sign-in has finished or failed. */
    async send(request: FastifyRequest, reply: FastifyReply, answer: ProviderSignIn) {
      const { method, asCookie, finished } = answer
      const query = await finished.then(
        async (session): Promise<Record<string, string> | undefined> => {
          logSignIn(request, { ...session, method })
          const { accessToken, refreshToken, exp } = await respondWithTokens(request, reply, session, { asCookie })
          if (refreshToken === undefined) return undefined
          return { access_token: accessToken, refresh_token: refreshToken, expires_in: String(exp) }
        },
        (thrown) => readFailure(thrown, request, answer),
      )
      return redirectTo(reply, query ? `${home}?${new URLSearchParams(query)}` : home)
    },
  }
}

const queryOf = ({ message, code }: SignInFailure) => ({ oauth_error: message, oauth_error_code: code })

/**
 * The address of this request at the host of the callback, when the browser uses another name of this machine: `localhost` and `127.0.0.1`
 * do not share cookies. Other hosts may be those that a proxy sends, so they are not compared.
 */
export function addressAtCallbackHost({ host, originalUrl }: FastifyRequest, callbackUrl: string): string | undefined {
  if (!URL.canParse(originalUrl, `http://${host}`)) return undefined
  const asked = new URL(originalUrl, `http://${host}`)
  const callback = new URL(callbackUrl)
  const isOther = asked.hostname !== callback.hostname && asked.port === callback.port
  if (!isOther || ![asked, callback].every(({ hostname }) => isLoopbackHost(hostname))) return undefined
  return new URL(`${asked.pathname}${asked.search}`, callback).href
}

/** Redirects to an address that may hold tokens: caches must not store it, and the page must not send it as its referrer. */
export const redirectTo = (reply: FastifyReply, url: string) =>
  reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer').redirect(url, 302)
