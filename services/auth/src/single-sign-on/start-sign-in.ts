import type { Deps } from '@parley/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { type Callback, setBrowserCookie } from './browser-cookie.ts'
import { addressAtCallbackHost, type ProviderRedirects, redirectTo } from './provider-redirects.ts'
import { beginState, type NewState, refuseTooManySignIns } from './sign-in-state.ts'

export const StartQuery = Type.Object({
  session: Type.Optional(
    Type.Enum(['cookie'], {
      description: 'The callback sets the session cookie, and redirects to the application without tokens',
    }),
  ),
})

export const Redirect = Type.Null({ description: 'A redirect' })

/** A provider, as the start of a sign-in needs it. */
export interface StartingProvider {
  id: string
  /** The id with which its started sign-ins are stored. */
  storedId: string
  callback: Callback
  /** The address to which the browser is sent. @throws SignInFailure */
  startUrl(start: Omit<NewState, 'browserSecret'>): Promise<string>
}

/** Makes the function that starts a sign-in, and sends the browser to its provider. It throws ApiError 429. */
export const createSignInStart =
  (deps: Pick<Deps, 'db' | 'config' | 'clock'>, redirects: ProviderRedirects) =>
  async (
    request: FastifyRequest<{ Querystring: Static<typeof StartQuery> }>,
    reply: FastifyReply,
    { id, storedId, callback, startUrl }: StartingProvider,
  ) => {
    const { method, query, ip } = request
    // HEAD must change nothing. Some programs send it to check a link before a person opens it.
    if (method === 'HEAD') return redirectTo(reply, redirects.home)
    const asCookie = query.session === 'cookie'
    const elsewhere = asCookie ? addressAtCallbackHost(request, callback.url) : undefined
    if (elsewhere !== undefined) return redirectTo(reply, elsewhere)
    const now = deps.clock()
    await refuseTooManySignIns(deps, ip, now)

    const { browserSecret, ...start } = await beginState(deps.db, { provider: { id: storedId }, ip, now }, { asCookie })
    const url = await startUrl(start).catch((thrown) => redirects.failureUrl(thrown, request, id))
    setBrowserCookie(reply, callback, start.state, browserSecret)
    return redirectTo(reply, url)
  }
