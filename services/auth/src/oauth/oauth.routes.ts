import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { notFound, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { originOf } from '../sessions/sign-in.ts'
import { takeBrowserCookie } from '../single-sign-on/browser-cookie.ts'
import { createProviderRedirects, redirectTo } from '../single-sign-on/provider-redirects.ts'
import { isForCookie } from '../single-sign-on/sign-in-state.ts'
import { createSignInStart, Redirect, type StartingProvider, StartQuery } from '../single-sign-on/start-sign-in.ts'
import { finishSignIn } from './finish-sign-in.ts'
import type { Provider } from './provider.ts'
import { ListedProvider, listedProviders, type Providers } from './providers.ts'

const ListProviders = {
  summary: 'List the providers that people may sign in with',
  response: {
    200: Type.Object({
      providers: Type.Array(ListedProvider),
      count: Type.Integer(),
    }),
    ...refusals(404),
  },
}

const ProviderParams = Type.Object({ providerId: Type.String() })

const StartSignIn = {
  summary: 'Send the browser to a provider to sign in',
  params: ProviderParams,
  querystring: StartQuery,
  response: { 302: Redirect, ...refusals(400, 404, 429) },
}

const FinishSignIn = {
  summary: 'Finish a sign-in: the provider sends the browser back to this address',
  description:
    'Redirects to the application, with `access_token`, `refresh_token` and `expires_in` in the query, or with `oauth_error` ' +
    '(a sentence) and `oauth_error_code`. After a successful sign-in with `session=cookie` the query is empty.',
  params: ProviderParams,
  querystring: Type.Object({
    code: Type.Optional(Type.String()),
    state: Type.Optional(Type.String()),
    error: Type.Optional(Type.String()),
    iss: Type.Optional(Type.String({ description: 'The issuer of this answer (RFC 9207)' })),
  }),
  response: { 302: Redirect, ...refusals(404) },
}

export const oauthRoutes =
  (deps: Deps, providers: Providers): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { config, clock } = deps
    const redirects = createProviderRedirects(deps)
    const startSignIn = createSignInStart(deps, redirects)
    const entries = listedProviders(config, providers)

    const requireProvider = (id: string): Provider => {
      const provider = providers.get(id)
      if (!provider) throw notFound('sign-in provider')
      return provider
    }

    app.get('/auth/oauth/providers', { schema: ListProviders, config: { access: 'none' } }, async () => {
      if (entries.length === 0) throw notFound('address')
      return { providers: entries, count: entries.length }
    })

    app.get('/auth/oauth/:providerId', { schema: StartSignIn, config: { access: 'none' } }, async (request, reply) => {
      const provider = requireProvider(request.params.providerId)
      return startSignIn(request, reply, startOf(provider))
    })

    app.get(
      '/auth/oauth/:providerId/callback',
      // A malformed query is a failed sign-in like any other: the browser is sent back to the application.
      { schema: FinishSignIn, config: { access: 'none' }, attachValidation: true },
      async (request, reply) => {
        const provider = requireProvider(request.params.providerId)
        // HEAD must not consume the state.
        if (request.method === 'HEAD') return redirectTo(reply, redirects.home)
        const answered = new URLSearchParams(request.validationError ? {} : request.query)
        const state = answered.get('state') ?? ''
        const browserSecret = takeBrowserCookie(request, reply, callbackOf(provider), state)

        const origin = originOf(request, clock())
        const finished = finishSignIn(deps, { provider, query: answered, browserSecret, origin })
        const asCookie = isForCookie(browserSecret)
        return redirects.send(request, reply, { providerId: provider.id, method: 'oauth', origin, asCookie, finished })
      },
    )
  }

const callbackOf = ({ redirectUri }: Provider) => ({ protocol: 'oauth', url: redirectUri }) as const

const startOf = (provider: Provider): StartingProvider => ({
  id: provider.id,
  storedId: provider.id,
  callback: callbackOf(provider),
  startUrl: (start) => provider.startUrl(start),
})
