import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { notFound, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { originOf } from '../sessions/sign-in.ts'
import { takeBrowserCookie } from '../single-sign-on/browser-cookie.ts'
import { readForms } from '../single-sign-on/forms.ts'
import { createProviderRedirects } from '../single-sign-on/provider-redirects.ts'
import { isForCookie } from '../single-sign-on/sign-in-state.ts'
import { createSignInStart, Redirect, type StartingProvider, StartQuery } from '../single-sign-on/start-sign-in.ts'
import { readResponseHead } from './assertions.ts'
import { finishSignIn, requestIdOf, stateOf, storedIdOf } from './finish-sign-in.ts'
import { createSamlProvider, type SamlProvider } from './saml-provider.ts'

const maxBytes = 400_000
const params = Type.Object({ providerId: Type.String() })

const StartSignIn = {
  summary: 'Send the browser to a SAML provider to sign in',
  params,
  querystring: StartQuery,
  response: { 302: Redirect, ...refusals(400, 404, 429) },
}

const FinishSignIn = {
  summary: 'Finish a sign-in: the browser posts the response of the SAML provider to this address',
  description:
    'Redirects to the application like the callback of OAuth. Only a signed assertion that answers a request of this browser is accepted, ' +
    'and only once.',
  consumes: ['application/x-www-form-urlencoded'],
  params,
  body: Type.Object({ SAMLResponse: Type.String(), RelayState: Type.Optional(Type.String()) }),
  response: { 302: Redirect, ...refusals(400, 404, 413) },
}

const GetMetadata = {
  summary: 'The SAML metadata of this server, for the provider',
  params,
  response: {
    200: { content: { 'application/samlmetadata+xml': { schema: Type.String() } } },
    ...refusals(404),
  },
}

/** A service provider of SAML 2.0: it sends requests by HTTP-Redirect and gets responses by HTTP-POST. */
export const samlRoutes =
  (deps: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { config, clock } = deps
    const redirects = createProviderRedirects(deps)
    const startSignIn = createSignInStart(deps, redirects)
    const { appUrl } = config.auth
    const providers = new Map(config.saml.map((entry) => [entry.id, createSamlProvider(entry, appUrl)]))
    readForms(app, { maxBytes })

    const requireProvider = (id: string): SamlProvider => {
      const provider = providers.get(id)
      if (!provider) throw notFound('sign-in provider')
      return provider
    }

    app.get('/auth/saml/:providerId', { schema: StartSignIn, config: { access: 'none' } }, async (request, reply) => {
      const provider = requireProvider(request.params.providerId)
      return startSignIn(request, reply, startOf(provider))
    })

    app.post(
      '/auth/saml/:providerId/acs',
      { schema: FinishSignIn, config: { access: 'none' } },
      async (request, reply) => {
        const provider = requireProvider(request.params.providerId)
        const response = request.body.SAMLResponse
        const head = readResponseHead(response, provider.acsUrl)
        const state = head ? stateOf(head.inResponseTo) : ''
        const browserSecret = takeBrowserCookie(request, reply, callbackOf(provider), state)

        const origin = originOf(request, clock())
        const finished = finishSignIn(deps, { provider, response, state, fault: head?.fault, browserSecret, origin })
        const asCookie = isForCookie(browserSecret)
        return redirects.send(request, reply, { providerId: provider.id, method: 'saml', origin, asCookie, finished })
      },
    )

    app.get(
      '/auth/saml/:providerId/metadata',
      { schema: GetMetadata, config: { access: 'none' } },
      async (request, reply) => {
        const { metadata } = requireProvider(request.params.providerId)
        return reply.type('application/samlmetadata+xml').send(metadata)
      },
    )
  }

const callbackOf = ({ acsUrl }: SamlProvider) => ({ protocol: 'saml', url: acsUrl }) as const

const startOf = (provider: SamlProvider): StartingProvider => ({
  id: provider.id,
  storedId: storedIdOf(provider),
  callback: callbackOf(provider),
  startUrl: ({ state }) => provider.startUrl(requestIdOf(state)),
})
