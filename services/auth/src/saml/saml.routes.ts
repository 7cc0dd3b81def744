import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { notFound, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { insertUsedToken } from '../sessions/provider-sessions.queries.ts'
import { originOf, type SignInOrigin, signIn } from '../sessions/sign-in.ts'
import { admitFromDirectory, syncDirectoryGroups } from '../single-sign-on/admission.ts'
import { setBrowserCookie, takeBrowserCookie } from '../single-sign-on/browser-cookie.ts'
import { readForms } from '../single-sign-on/forms.ts'
import { addressAtCallbackHost, createProviderRedirects, redirectTo } from '../single-sign-on/provider-redirects.ts'
import { SignInFailure } from '../single-sign-on/sign-in-failure.ts'
import { beginState, isForCookie, refuseTooManySignIns, requireState } from '../single-sign-on/sign-in-state.ts'
import { readResponseHead } from './assertions.ts'
import { createSamlProvider, type SamlProvider } from './saml-provider.ts'

const maxBytes = 400_000
const params = Type.Object({ providerId: Type.String() })
const Redirect = Type.Null({ description: 'A redirect' })

const StartSignIn = {
  summary: 'Send the browser to a SAML provider to sign in',
  params,
  querystring: Type.Object({
    session: Type.Optional(
      Type.Enum(['cookie'], {
        description: 'The redirect to the application sets the session cookie instead of sending tokens',
      }),
    ),
  }),
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
    const { db, config, clock, wakeRelay } = deps
    const redirects = createProviderRedirects(deps)
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
      // HEAD must change nothing. Some programs send it to check a link before a person opens it.
      if (request.method === 'HEAD') return redirectTo(reply, redirects.home)
      const { ip, query } = request
      const asCookie = query.session === 'cookie'
      const elsewhere = asCookie ? addressAtCallbackHost(request, provider.acsUrl) : undefined
      if (elsewhere !== undefined) return redirectTo(reply, elsewhere)
      const now = clock()
      await refuseTooManySignIns(deps, ip, now)

      const { state, browserSecret } = await beginState(
        db,
        { provider: storedProvider(provider), ip, now },
        { asCookie },
      )
      setBrowserCookie(reply, callbackOf(provider), state, browserSecret)
      return redirectTo(reply, await provider.startUrl(requestIdOf(state)))
    })

    app.post(
      '/auth/saml/:providerId/acs',
      { schema: FinishSignIn, config: { access: 'none' } },
      async (request, reply) => {
        const provider = requireProvider(request.params.providerId)
        const response = request.body.SAMLResponse
        const head = readResponseHead(response, provider.acsUrl)
        const state = head?.inResponseTo.slice(requestPrefix.length) ?? ''
        const browserSecret = takeBrowserCookie(request, reply, callbackOf(provider), state)

        const origin = originOf(request, clock())
        const finished = finish({ provider, response, state, fault: head?.fault, browserSecret, origin })
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

    /** Consumes the request that this response answers, checks the assertion and starts a session. @throws SignInFailure */
    async function finish({ provider, response, state, fault, browserSecret, origin }: PostedResponse) {
      const { ip, now } = origin
      await requireState(deps, { provider: storedProvider(provider), ip, now, state, browserSecret })
      if (fault) throw new SignInFailure('provider_unavailable', { cause: new Error(fault) })
      const { person, policy, assertion } = await provider.identify(response, requestIdOf(state), now)

      const session = await db.transaction().execute(async (trx) => {
        const { issuer } = person.identity
        const { id, expiresAt, sessionEndsBy: endsBy } = assertion
        const isFirst = await insertUsedToken(trx, { issuer, id: `assertion ${id}`, expiresAt, now })
        if (!isFirst) throw new SignInFailure('invalid_state')
        const user = await admitFromDirectory(trx, { person, policy, config, origin })
        return signIn(trx, config, { user, method: 'saml', endsBy }, origin)
      })
      await syncDirectoryGroups(deps, session.userId, person, origin)
      wakeRelay()
      return session
    }
  }

/** A response that a browser has posted, with what the route has read of it. */
interface PostedResponse {
  provider: SamlProvider
  response: string
  /** The state of the request that the response answers, as it claims. */
  state: string
  /** The reason when the response is refused because of its head. */
  fault: string | undefined
  browserSecret: string | undefined
  origin: SignInOrigin
}

/** The id of a request is this prefix and the state, because an XML id must not begin with a digit. */
const requestPrefix = '_'
const requestIdOf = (state: string) => requestPrefix + state

/** Started sign-ins are stored together with those of OAuth, under an id that no OAuth provider can have. */
const storedProvider = ({ id }: SamlProvider) => ({ id: `saml ${id}` })

const callbackOf = ({ acsUrl }: SamlProvider) => ({ protocol: 'saml', url: acsUrl }) as const
