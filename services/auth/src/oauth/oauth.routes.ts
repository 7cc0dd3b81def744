import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { auditFailedSignIn } from '@parley/accounts'
import { notFound, refusals, tooMany } from '@parley/contract'
import { type Deps, logSignIn } from '@parley/service'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { createTokenReplies } from '../sessions/session-cookie.ts'
import { originOf } from '../sessions/sign-in.ts'
import { countOauthSignIn, finishSignIn } from './finish-sign-in.ts'
import { asOauthFailure, OauthFailure, type OauthFailureCode } from './oauth-failure.ts'
import { beginState, isForCookie, stateSeconds } from './oauth-state.ts'
import { authorizationUrl, presets as builtIn, configuredProviders, type Presets, type Provider } from './providers.ts'

const ListProviders = {
  summary: 'The providers people may sign in with',
  response: {
    200: Type.Object({
      providers: Type.Array(
        Type.Object({
          id: Type.String(),
          name: Type.String(),
          loginUrl: Type.String({ description: 'Path to send the browser to' }),
        }),
      ),
      count: Type.Integer(),
    }),
    ...refusals(404),
  },
}

const ProviderParams = Type.Object({ providerId: Type.String() })
const Redirect = Type.Null({ description: 'A redirect' })

const StartSignIn = {
  summary: 'Send the browser to a provider to sign in',
  params: ProviderParams,
  querystring: Type.Object({
    session: Type.Optional(
      Type.Enum(['cookie'], {
        description: 'The callback sets the session cookie and leads to the application without tokens',
      }),
    ),
  }),
  response: { 302: Redirect, ...refusals(400, 404, 429) },
}

const FinishSignIn = {
  summary: 'The address that a provider sends the browser back to',
  description:
    'Redirects to the application, with `access_token`, `refresh_token` and `expires_in` in the query, or with `oauth_error` ' +
    '(a sentence) and `oauth_error_code`. A sign-in that began with `session=cookie` has nothing in the query on success.',
  params: ProviderParams,
  querystring: Type.Object({
    code: Type.Optional(Type.String()),
    state: Type.Optional(Type.String()),
    error: Type.Optional(Type.String()),
  }),
  response: { 302: Redirect, ...refusals(404) },
}

/** Failures after the provider has identified a person. Anybody can cause the others with a single request, so they are not audited. */
const audited = new Set<OauthFailureCode>(['no_verified_email', 'unusable_email', 'not_invited', 'sign_in_failed'])

export interface OauthOptions {
  /** Tests replace the presets by providers of their own. */
  presets?: Presets
  /** Milliseconds for all requests to a provider during one sign-in. */
  timeoutMs?: number
}

export const oauthRoutes =
  (deps: Deps, { presets = builtIn, timeoutMs = 10_000 }: OauthOptions = {}): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, config, clock, logger } = deps
    const replyTokens = createTokenReplies(deps)
    const providers = configuredProviders(config, presets)
    const entries = [...providers.values()].map(({ id, name }) => ({ id, name, loginUrl: `/auth/oauth/${id}` }))

    const requireProvider = (id: string): Provider => {
      const provider = providers.get(id)
      if (!provider) throw notFound('sign-in provider')
      return provider
    }

    app.get('/auth/oauth/providers', { schema: ListProviders, config: { access: 'none' } }, async () => {
      if (entries.length === 0) throw notFound('address')
      return { providers: entries, count: entries.length }
    })

    app.get(
      '/auth/oauth/:providerId',
      { schema: StartSignIn, config: { access: 'none' } },
      async ({ method, params, query, ip }, reply) => {
        const provider = requireProvider(params.providerId)
        // HEAD must change nothing, also when a program looks at a link before its reader does.
        if (method === 'HEAD') return redirectTo(reply, `${config.auth.appUrl}/`)
        const now = clock()
        const retryAfter = await countOauthSignIn(deps, ip, now)
        if (retryAfter > 0) throw tooMany(new OauthFailure('rate_limited').message, retryAfter)

        const asCookie = query.session === 'cookie'
        const { state, browserSecret, codeChallenge } = await beginState(db, { provider, ip, now }, { asCookie })

        const { name, attributes } = browserCookie(state, provider.redirectUri)
        reply.setCookie(name, browserSecret, { ...attributes, maxAge: stateSeconds })
        return redirectTo(reply, authorizationUrl(provider, { state, codeChallenge }))
      },
    )

    app.get(
      '/auth/oauth/:providerId/callback',
      // A malformed query is a failed sign-in like any other: the browser is sent back to the application.
      { schema: FinishSignIn, config: { access: 'none' }, attachValidation: true },
      async (request, reply) => {
        const provider = requireProvider(request.params.providerId)
        // HEAD must not consume the state.
        if (request.method === 'HEAD') return redirectTo(reply, `${config.auth.appUrl}/`)
        const { code, state, error } = request.validationError ? {} : request.query
        const { name, attributes } = browserCookie(state ?? '', provider.redirectUri)
        const browserSecret = request.cookies[name]
        if (browserSecret !== undefined) reply.clearCookie(name, attributes)

        const origin = originOf(request, clock())
        const query = await finishSignIn(deps, {
          provider,
          code,
          state,
          error,
          browserSecret,
          origin,
          timeoutMs,
        }).then(
          async (session) => {
            logSignIn(request, { ...session, method: 'oauth' })
            const asCookie = isForCookie(browserSecret)
            const { accessToken, refreshToken, exp } = await replyTokens(request, reply, session, { asCookie })
            if (refreshToken === undefined) return undefined
            return { access_token: accessToken, refresh_token: refreshToken, expires_in: String(exp) }
          },
          async (thrown) => {
            const failure = asOauthFailure(thrown)
            const level = failure.code.startsWith('provider_') ? 'warn' : 'info'
            logger[level](
              { requestId: request.id, provider: provider.id, code: failure.code, err: failure.cause },
              'a sign-in through a provider failed',
            )
            if (audited.has(failure.code)) {
              const failed = { method: 'oauth' as const, subject: `${provider.id} ${failure.code}`, userId: undefined }
              await db.transaction().execute((trx) => auditFailedSignIn(trx, { ...failed, ...origin }))
            }
            return { oauth_error: failure.message, oauth_error_code: failure.code }
          },
        )
        return redirectTo(reply, `${config.auth.appUrl}/${query ? `?${new URLSearchParams(query)}` : ''}`)
      },
    )
  }

/**
 * The cookie that ties a sign-in to the browser that started it. Each sign-in has its own name, so two tabs do not disturb each other.
 * Lax, because the provider's page leads back here. On https it is a `__Host-` cookie, so no neighbouring domain can set one.
 */
function browserCookie(state: string, redirectUri: string) {
  const secure = new URL(redirectUri).protocol === 'https:'
  return {
    name: `${secure ? '__Host-' : ''}parley_oauth_${state.slice(0, 8)}`,
    attributes: { path: '/', httpOnly: true, sameSite: 'lax', secure } as const,
  }
}

/** The address may hold tokens: no cache stores it, and the page does not send it on as its referrer. */
const redirectTo = (reply: FastifyReply, url: string) =>
  reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer').redirect(url, 302)
