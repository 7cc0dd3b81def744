import { createClient, RequestFailed, type TokenPair, tokensInMemory } from '@parley/client'
import type { WireEvent } from '@parley/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ClientServer } from './journeys.ts'

/** Collects the uncaught errors of this process until the test ends. Otherwise vitest reports them as failures. */
function collectUncaught(): unknown[] {
  const errors: unknown[] = []
  const listeners = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => errors.push(error))
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException')
    for (const listener of listeners) process.on('uncaughtException', listener)
  })
  return errors
}

export function clientJourneys(server: ClientServer) {
  type Fetch = typeof fetch
  const clientOf = (tokens: TokenPair, options: { fetch?: Fetch; onSignedOut?: () => void } = {}) =>
    createClient({ baseUrl: server.baseUrl, tokens: tokensInMemory(tokens), retries: { firstMs: 5 }, ...options })
  const ann = () => ({ accessToken: server.people.ann.token!, refreshToken: server.people.ann.refreshToken })
  const signIn = async (name: string): Promise<TokenPair> => {
    const { body } = await server.people.nobody.post('/auth/dev-login', { email: `${name}@example.com` })
    return { accessToken: body.token, refreshToken: body.refreshToken }
  }

  /** Sends all requests to the server. `meddle` is called for each request and may change its reply. */
  const meddling =
    (meddle: (url: string, answer: () => Promise<Response>) => Promise<Response>): Fetch =>
    (input, init) =>
      meddle(String(input), () => fetch(input, init))

  describe('a request', () => {
    test('has its path parameters, query and body, and a typed reply', async () => {
      const client = clientOf(ann())
      const params = { channelId: server.channel.open.id }
      const { message } = await client.request('POST /channels/:channelId/messages', {
        params,
        body: { content: 'hi' },
      })
      const query = { limit: 1 }
      const { messages } = await client.request('GET /channels/:channelId/messages', { params, query })
      expect(messages).toEqual([message])
    })

    test('that is refused throws the error of the server', async () => {
      const failed = clientOf(ann()).request('PUT /messages/:messageId', {
        params: { messageId: 'no/such?message' },
        body: { content: 'x' },
      })
      await expect(failed).rejects.toThrow(RequestFailed)
      await expect(failed).rejects.toMatchObject({
        status: 404,
        code: 'not_found',
        error: 'There is no such message',
        requestId: expect.any(String),
      })
    })

    test('that sends a message is repeated with its key after a lost reply, and the message is stored once', async () => {
      let lost = 0
      const client = clientOf(ann(), {
        fetch: meddling(async (url, answer) => {
          const response = await answer()
          if (!url.endsWith('/messages') || lost >= 2) return response
          lost++
          throw new TypeError('the connection broke')
        }),
      })
      const params = { channelId: server.channel.open.id }
      const { message } = await client.request('POST /channels/:channelId/messages', {
        params,
        body: { content: 'once' },
      })
      const { body } = await server.people.ann.get(`/channels/${params.channelId}/messages`)
      expect(lost).toBe(2)
      expect(body.messages.filter(({ content }: { content: string }) => content === 'once')).toEqual([message])
    })

    test('that deletes is done when it is repeated after a lost reply, and throws 404 when nothing was deleted', async () => {
      let lost = 0
      const client = clientOf(ann(), {
        fetch: meddling(async (_url, answer) => {
          const response = await answer()
          if (lost++ > 0) return response
          throw new TypeError('the connection broke')
        }),
      })
      const channel = await server.people.ann.creates({ name: server.unique('deleted') })
      const params = { channelId: channel.id }
      expect(await client.request('DELETE /channels/:channelId', { params })).toEqual({ success: true })
      expect(lost).toBe(2)
      await expect(client.request('DELETE /channels/:channelId', { params })).rejects.toMatchObject({ status: 404 })
    })

    test.each([
      ['a GET that got 503', 'GET /users', 503, 3],
      ['a POST without a key that got 429', 'POST /users/exit', 429, 3],
      ['a POST without a key that got 503', 'POST /users/exit', 503, 1],
    ] as const)('%s: tries', async (_, operation, status, expected) => {
      let tries = 0
      const client = clientOf(await signIn(`leaving-after-${status}`), {
        fetch: meddling(async (_url, answer) => {
          if (++tries >= 3) return answer()
          return Response.json({ error: 'not now' }, { status, headers: { 'retry-after': '0' } })
        }),
      })
      const outcome = await client.request(operation).then(
        () => 'done',
        (error: RequestFailed) => error.status,
      )
      expect({ tries, outcome }).toEqual({ tries: expected, outcome: expected === 1 ? status : 'done' })
    })

    test('fails immediately when Retry-After is too long', async () => {
      const headers = { 'retry-after': '3600' }
      const client = clientOf(ann(), {
        fetch: async () => Response.json({ error: 'much later' }, { status: 429, headers }),
      })
      await expect(client.request('GET /users')).rejects.toMatchObject({ status: 429, retryAfter: 3600 })
    })
  })

  describe('tokens', () => {
    test('are refreshed once when many requests and streams are refused at the same time', async () => {
      let refreshes = 0
      const { refreshToken } = await signIn('refreshing')
      const tokens = { accessToken: 'expired', refreshToken }
      const kept: (TokenPair | undefined)[] = []
      const client = createClient({
        baseUrl: server.baseUrl,
        tokens: tokensInMemory(tokens, (pair) => kept.push(pair)),
        fetch: meddling(async (url, answer) => {
          if (url.endsWith('/auth/refresh')) refreshes++
          return answer()
        }),
      })
      const opened = Promise.withResolvers<void>()
      const stream = client.openStream({ onOpen: () => opened.resolve(), onEvent() {} })
      const responses = await Promise.all(Array.from({ length: 8 }, () => client.request('GET /auth/me')))
      await opened.promise
      stream.close()
      expect(new Set(responses.map(({ user }) => user.userName))).toEqual(new Set(['refreshing']))
      expect(refreshes).toBe(1)
      expect(kept).toHaveLength(1)
    })

    test('that cannot be refreshed end the session, with one call of `onSignedOut`', async () => {
      let told = 0
      const onSignedOut = () => {
        told++
      }
      const client = clientOf({ accessToken: 'expired', refreshToken: 'nonsense' }, { onSignedOut })
      for (const asked of [client.request('GET /users'), client.request('GET /channels')]) {
        await expect(asked).rejects.toMatchObject({ status: 401 })
      }
      await expect(client.request('GET /users')).rejects.toMatchObject({ status: 401 })
      expect({ told, isSignedOut: client.isSignedOut() }).toEqual({ told: 1, isSignedOut: true })
    })

    test('that another client has removed from the shared store end the session and the stream of this one too', async () => {
      const tokens = tokensInMemory({ accessToken: 'expired', refreshToken: 'nonsense' })
      const other = createClient({ baseUrl: server.baseUrl, tokens })
      await expect(other.request('GET /users')).rejects.toMatchObject({ status: 401 })

      const told: string[] = []
      const ended = Promise.withResolvers<void>()
      const client = createClient({ baseUrl: server.baseUrl, tokens, onSignedOut: () => told.push('client') })
      const stream = client.openStream({
        onEvent() {},
        onLost: () => setImmediate(() => stream.wake()),
        onSignedOut: () => ended.resolve(),
      })
      await ended.promise
      expect({ told, isSignedOut: client.isSignedOut() }).toEqual({ told: ['client'], isSignedOut: true })
    })
  })

  describe('a stream', () => {
    const contentsOf = (events: WireEvent[]) =>
      events.flatMap((event) => (event.type === 'NEW_MESSAGE' ? [event.payload.content] : []))

    test('that loses its connection resumes after its last event, with a new token, and repeats no event', async () => {
      const { refreshToken, accessToken } = await signIn('resuming')
      const connections: AbortController[] = []
      const tokens = tokensInMemory({ accessToken, refreshToken })
      const client = createClient({
        baseUrl: server.baseUrl,
        tokens,
        fetch: (input, init) => {
          if (!String(input).endsWith('/events')) return fetch(input, init)
          const connection = new AbortController()
          connections.push(connection)
          return fetch(input, { ...init, signal: AbortSignal.any([init!.signal!, connection.signal]) })
        },
      })
      const events: WireEvent[] = []
      const opened: boolean[] = []
      const stream = client.openStream({
        onOpen: ({ resumed }) => opened.push(resumed),
        onEvent: (event) => events.push(event),
        onLost: () => setImmediate(() => stream.wake()),
      })
      const { ann } = server.people
      const patience = { timeout: 20_000 }
      const said: string[] = []
      for (let n = 0; n < 12; n++) {
        // Each cut closes a separate connection. The next message is missed.
        if (n % 4 === 0) await expect.poll(() => opened.length, patience).toBe(n / 4 + 1)
        said.push((await ann.says(`message ${n}`, server.channel.open)).content)
        if (n % 4 !== 1) continue
        tokens.write({ accessToken: 'expired', refreshToken: tokens.read()!.refreshToken })
        connections.at(-1)!.abort()
      }
      await expect.poll(() => contentsOf(events), patience).toEqual(said)
      stream.close()
      expect(opened).toEqual([false, true, true, true])
    })

    test('that is lost is opened again even if the handler throws', async () => {
      const uncaught = collectUncaught()
      let connections = 0
      const client = clientOf(ann(), {
        fetch: meddling(async (url, answer) => {
          if (url.endsWith('/events') && ++connections === 1) throw new TypeError('the connection broke')
          return answer()
        }),
      })
      const opened = Promise.withResolvers<void>()
      const error = new Error('a handler of the program failed')
      const stream = client.openStream({
        onOpen: () => opened.resolve(),
        onEvent() {},
        onLost() {
          setImmediate(() => stream.wake())
          throw error
        },
      })
      onTestFinished(() => stream.close())
      await opened.promise
      expect(uncaught).toEqual([error])
    })

    test('that gets no bytes is opened again', async () => {
      const client = clientOf(ann())
      const why: string[] = []
      const stream = client.openStream(
        {
          onEvent() {},
          onLost: ({ message }) => why.push(message),
        },
        { silenceMs: 200 },
      )
      await expect.poll(() => why[0], { timeout: 20_000 }).toBe('No data came for 200 ms')
      stream.close()
    })

    test('ends with its session, and sends no further requests', async () => {
      const tokens = await signIn('leaving')
      let asked = 0
      const ended = Promise.withResolvers<void>()
      const client = clientOf(tokens, {
        fetch: meddling(async (_, answer) => {
          asked++
          return answer()
        }),
      })
      const opened = Promise.withResolvers<void>()
      const stream = client.openStream({
        onOpen: () => opened.resolve(),
        onEvent() {},
        onLost: () => setImmediate(() => stream.wake()),
        onSignedOut: () => ended.resolve(),
      })
      await opened.promise
      await client.request('POST /auth/logout', { body: { refreshToken: tokens.refreshToken! } })
      await ended.promise
      const before = asked
      stream.wake()
      await expect(client.request('GET /users')).rejects.toMatchObject({ status: 401 })
      expect(asked).toBe(before)
    })
  })
}
