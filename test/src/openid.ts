import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
// @ts-expect-error the package ships no types
import { Provider } from 'oidc-provider'

interface OpenidClient {
  clientId: string
  clientSecret: string
  redirectUri: string
  /** Further redirect addresses. */
  redirectUris?: string[]
}

/** A real OpenID provider. It signs in the person with the claims of `signedIn` without a password, and requires PKCE. */
export async function startOpenid({ clientId, clientSecret, redirectUri, redirectUris = [] }: OpenidClient) {
  const signedIn: { claims: Record<string, unknown> } = { claims: {} }
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const provider = new Provider(url, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri, ...redirectUris],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        // The real address is known only when the installation runs, see `logOut`.
        backchannel_logout_uri: `${url}/nowhere`,
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    scopes: ['openid', 'email', 'profile'],
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600, AuthorizationCode: 60 },
    // The library's own dispatcher refuses loopback addresses, but the installations of tests have them.
    fetch: (url: string, { dispatcher: _, ...options }: RequestInit & { dispatcher?: unknown }) => fetch(url, options),
    cookies: { keys: ['a key of tests'] },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, accountId: string) => ({
      accountId,
      claims: async () => ({ sub: accountId, ...signedIn.claims }),
    }),
    // biome-ignore lint/suspicious/noExplicitAny: the package ships no types
    async loadExistingGrant(context: any) {
      const { client, session } = context.oidc
      const grant = new context.oidc.provider.Grant({ clientId: client.clientId, accountId: session.accountId })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  })
  const answer = provider.callback()
  server.on('request', (request, response) => {
    if (!request.url!.startsWith('/interaction/')) return answer(request, response)
    const result = { login: { accountId: 'somebody' } }
    return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
  })

  return {
    url,
    signedIn,
    /** Accepts a redirect address that is known only when the installation runs. */
    async acceptRedirect(uri: string) {
      const client = await provider.Client.find(clientId)
      client.redirectUris.push(uri)
    },
    /** Notifies the client at this address that the person has logged out at the provider. */
    async logOut(backchannelUri: string) {
      const client = await provider.Client.find(clientId)
      client.backchannelLogoutUri = backchannelUri
      await client.backchannelLogout('somebody')
    },
    close() {
      server.closeAllConnections()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
