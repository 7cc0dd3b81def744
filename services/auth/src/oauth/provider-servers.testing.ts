import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { appUrl } from '@parley/test/browser'

export interface Asked {
  path: string
  headers: IncomingMessage['headers']
  form: URLSearchParams
}

export type Answer = (asked: Asked, response: ServerResponse) => unknown

/** An HTTP server of a provider. A test may change its answer at a path at any time. It keeps all requests. */
export interface ProviderServer {
  url: string
  asked: Asked[]
  answers: Record<string, Answer>
  close(): Promise<void>
}

export async function startProviderServer(answers: Record<string, Answer>): Promise<ProviderServer> {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, provider.url)
    const body = await text(request)
    const one: Asked = {
      path: url.pathname,
      headers: request.headers,
      form: request.method === 'POST' ? new URLSearchParams(body) : url.searchParams,
    }
    asked.push(one)
    const answer = provider.answers[one.path] ?? ((_, missing) => missing.writeHead(404).end())
    answer(one, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const provider: ProviderServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answers: { ...answers },
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return provider
}

export const json =
  (body: unknown, status = 200): Answer =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** A plain OAuth provider. It signs in everybody without a password. */
export const startProvider = () =>
  startProviderServer({
    '/authorize': ({ form }, response) => {
      const back = new URL(form.get('redirect_uri')!)
      back.searchParams.set('code', 'a-code')
      back.searchParams.set('state', form.get('state')!)
      response.writeHead(302, { location: back.href }).end()
    },
    '/token': json({ access_token: 'provider-access', token_type: 'Bearer' }),
    '/profile': json({ email: 'ann@example.com' }),
  })

interface GithubUser {
  login: string
  name: string | null
  emails: { email: string; primary: boolean; verified: boolean; visibility: 'public' | 'private' | null }[]
}

/**
 * The part of GitHub that a sign-in uses. Like GitHub it refuses with 200, answers with forms unless JSON is accepted,
 * and needs a User-Agent.
 */
export async function startGithub(client: { clientId: string; clientSecret: string }) {
  const codes = new Map<string, { challenge: string; redirectUri: string }>()
  const signedIn: { user: GithubUser } = { user: { login: 'nobody', name: null, emails: [] } }
  let count = 0

  const asUser =
    (body: () => unknown): Answer =>
    (asked, response) => {
      if (!asked.headers['user-agent']) return json({ message: 'Please send a User-Agent' }, 403)(asked, response)
      const isKnown = asked.headers.authorization === 'Bearer gho_secret'
      return (isKnown ? json(body()) : json({ message: 'Bad credentials' }, 401))(asked, response)
    }

  const provider = await startProviderServer({
    '/login/oauth/authorize': ({ form }, response) => {
      if (form.get('client_id') !== client.clientId || form.get('code_challenge_method') !== 'S256') {
        return response.writeHead(404).end()
      }
      const code = `github-code-${++count}`
      codes.set(code, { challenge: form.get('code_challenge')!, redirectUri: form.get('redirect_uri')! })
      const back = new URL(form.get('redirect_uri')!)
      back.searchParams.set('code', code)
      back.searchParams.set('state', form.get('state')!)
      response.writeHead(302, { location: back.href }).end()
    },
    '/login/oauth/access_token': (asked, response) => {
      const { form } = asked
      const code = codes.get(form.get('code')!)
      codes.delete(form.get('code')!)
      const isGood =
        code !== undefined &&
        form.get('client_id') === client.clientId &&
        form.get('client_secret') === client.clientSecret &&
        form.get('redirect_uri') === code.redirectUri &&
        createHash('sha256').update(form.get('code_verifier')!).digest('base64url') === code.challenge
      const answer: Record<string, string> = isGood
        ? { access_token: 'gho_secret', token_type: 'bearer', scope: 'read:user,user:email' }
        : { error: 'bad_verification_code', error_description: 'The code passed is incorrect or expired.' }
      if (asked.headers.accept?.includes('json')) return json(answer)(asked, response)
      response.writeHead(200, { 'content-type': 'application/x-www-form-urlencoded' })
      response.end(new URLSearchParams(answer).toString())
    },
    '/user': asUser(() => {
      const { login, name, emails } = signedIn.user
      return { id: 1, login, name, email: emails.find(({ visibility }) => visibility === 'public')?.email ?? null }
    }),
    '/user/emails': asUser(() => signedIn.user.emails),
  })
  return Object.assign(provider, { signedIn })
}

/** The configuration of a custom provider at this address. */
export const customProvider = (id: string, url: string) => ({
  id,
  name: id,
  authorizationUrl: `${url}/authorize`,
  tokenUrl: `${url}/token`,
  userInfoUrl: `${url}/profile`,
  clientId: 'a-client',
  clientSecret: 'a-client-secret',
  redirectUri: `${appUrl}/auth/oauth/${id}/callback`,
  scopes: ['email'],
})
