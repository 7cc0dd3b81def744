import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import {
  type Answer,
  customProvider,
  json,
  type ProviderServer,
  startProviderServer,
} from './provider-servers.testing.ts'

interface SigningKey {
  kid: string
  privateKey: CryptoKey
  publicJwk: JWK
}

export interface Issuer extends ProviderServer {
  /** Claims of the next id tokens, beside the usual ones. `undefined` removes a usual claim. */
  claims: Record<string, unknown>
  /** The claims of the next user info. */
  userInfo: Record<string, unknown>
  /** The published keys. */
  published: JWK[]
  key: SigningKey
  /** Turns claims into the next id tokens. */
  sign: (claims: Record<string, unknown>) => Promise<string> | string
  /** The number of times that the keys were fetched. */
  keysFetched(): number
  /** Signs a logout token. `undefined` removes a usual claim. */
  logoutToken(claims: Record<string, unknown>, header?: Record<string, string>): Promise<string>
}

export async function createKey(kid: string, algorithm = 'RS256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  return { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' } }
}

export const signWith =
  ({ kid, privateKey, publicJwk }: SigningKey, header: Record<string, string> = {}) =>
  (claims: Record<string, unknown>): Promise<string> =>
    new SignJWT(JSON.parse(JSON.stringify(claims)))
      .setProtectedHeader({ alg: publicJwk.alg!, kid, ...header })
      .sign(privateKey)

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

/** Starts an OpenID Connect provider whose tokens may be wrong. It signs in the person of its claims without a password. */
export async function startIssuer(): Promise<Issuer> {
  const key = await createKey('first')
  const seconds = () => Math.floor(Date.now() / 1000)

  const authorize: Answer = ({ form }, response) => {
    const back = new URL(form.get('redirect_uri')!)
    back.searchParams.set('code', `code of ${form.get('nonce')}`)
    back.searchParams.set('state', form.get('state')!)
    response.writeHead(302, { location: back.href }).end()
  }
  const token: Answer = async (asked, response) => {
    const nonce = asked.form.get('code')!.slice('code of '.length)
    const usual = { iss: provider.url, aud: 'a-client', sub: 'ann', exp: seconds() + 300, iat: seconds(), nonce }
    const id_token = await issuer.sign({ ...usual, ...issuer.claims })
    return json({ access_token: 'an-access-token', token_type: 'Bearer', id_token })(asked, response)
  }
  const provider = await startProviderServer({
    '/authorize': authorize,
    '/token': token,
    '/jwks': (asked, response) => json({ keys: issuer.published })(asked, response),
    '/profile': (asked, response) => json({ sub: 'ann', ...issuer.userInfo })(asked, response),
  })
  const issuer: Issuer = Object.assign(provider, {
    claims: {},
    userInfo: {},
    published: [key.publicJwk],
    key,
    sign: signWith(key),
    keysFetched: () => provider.asked.filter(({ path }) => path === '/jwks').length,
    logoutToken(claims: Record<string, unknown>, header = {}) {
      const usual = {
        iss: provider.url,
        aud: 'a-client',
        iat: seconds(),
        exp: seconds() + 120,
        jti: crypto.randomUUID(),
      }
      const all = { ...usual, events: { [logoutEvent]: {} }, ...claims }
      return signWith(issuer.key, { typ: 'logout+jwt', ...header })(all)
    },
  })
  provider.answers['/.well-known/openid-configuration'] = json(discovered(provider.url))
  return issuer
}

/** The discovery document. */
export const discovered = (url: string) => ({
  issuer: url,
  authorization_endpoint: `${url}/authorize`,
  token_endpoint: `${url}/token`,
  userinfo_endpoint: `${url}/profile`,
  jwks_uri: `${url}/jwks`,
  end_session_endpoint: `${url}/logout`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256', 'ES256', 'HS256', 'none'],
})

/** The configuration of a provider with an issuer. */
export function openidProvider(id: string, issuer: string, more: Record<string, unknown> = {}) {
  const { name, clientId, clientSecret, redirectUri } = customProvider(id, issuer)
  return { id, name, clientId, clientSecret, redirectUri, scopes: ['openid', 'email', 'profile'], issuer, ...more }
}
