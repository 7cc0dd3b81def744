import { randomUUID } from 'node:crypto'
import net from 'node:net'
import { Person } from '@parley/test'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Installation, launch } from '../src/launch.ts'
import { exchange, expectRefusal, expectSanity } from './exchange.ts'
import { describedRoutes, filled, type Known, type Route, validBody, wrongValues } from './routes.ts'

/** Every described route is given what no client should send. */
describe('hostile requests', () => {
  let installation: Installation
  let routes: Route[]
  let known: Known
  let adminToken: string

  beforeAll(async () => {
    installation = await launch('solo')
    routes = await describedRoutes(Person.nobody(installation.baseUrl))
    adminToken = await signIn('admin')
    expect(routes.length).toBeGreaterThan(20)
  })
  afterAll(() => installation?.discard())

  beforeEach(async () => {
    known = await somethingOfEverything(installation.baseUrl)
  })

  afterEach(async () => {
    expect(await exchange(installation.baseUrl, { method: 'GET', path: '/health' })).toEqual({
      status: 200,
      text: 'OK',
    })
  })

  const signIn = async (name: string) => (await Person.signIn(installation.baseUrl, `${name}@example.com`)).token!
  const json = { 'content-type': 'application/json' }

  /** An admin's, so that nothing is refused for want of rights; where it may end the session, one of its own. */
  function tokenFor({ path }: Route): string | Promise<string> {
    if (path === '/users/exit') return signIn('leaver')
    return path.startsWith('/auth/') ? signIn('admin') : adminToken
  }

  async function send(route: Route, { path = filled(route.path, known), body, headers = json as object }: Sent) {
    return exchange(installation.baseUrl, {
      method: route.method,
      path,
      headers: { authorization: `Bearer ${await tokenFor(route)}`, ...headers },
      body: body === undefined || typeof body === 'string' || body instanceof Buffer ? body : JSON.stringify(body),
    })
  }
  interface Sent {
    path?: string
    body?: unknown
    headers?: object
  }

  const withBody = () => routes.filter(({ body }) => body !== undefined)
  const withParameters = () => routes.filter(({ pathParameters }) => pathParameters.length > 0)
  const all = (work: (route: Route) => Promise<unknown>, chosen = routes) => inSmallGroups(chosen, work)

  test('the same requests unspoilt are taken: it is what is spoilt below that is refused', async () => {
    const refused = new Set<string>()
    await all(async (route) => {
      const own = { ...known, ...(route.method === 'DELETE' && (await somethingOfEverything(installation.baseUrl))) }
      const path = filled(route.path, own)
      const { status } = await send(route, { path, body: route.body && validBody(route.body, own) })
      if (status >= 400) refused.add(route.name)
    })
    expect([...refused].sort()).toEqual(refusedInAnyCase.filter((name) => refused.has(name)))
  })

  test('values of the wrong type are refused', async () => {
    await all(async (route) => {
      for (const [name, schema] of Object.entries(route.body!.properties ?? {})) {
        for (const wrong of wrongValues(schema)) {
          const body = { ...validBody(route.body!, known), [name]: wrong }
          expectRefusal(await send(route, { body }), `${route.name} with ${name}: ${JSON.stringify(wrong)}`)
        }
      }
    }, withBody())
  })

  test('missing fields are refused', async () => {
    await all(async (route) => {
      for (const name of route.body!.required ?? []) {
        const { [name]: _left, ...body } = validBody(route.body!, known)
        expectRefusal(await send(route, { body }), `${route.name} without ${name}`)
      }
    }, withBody())
  })

  test('bodies that are no object are refused', async () => {
    await all(async (route) => {
      for (const body of ['[]', 'null', '"text"', '1', 'true', '[{}]']) {
        const answer = await send(route, { body })
        if (route.body) expectRefusal(answer, `${route.name} with the body ${body}`)
        else expectSanity(answer, `${route.name} with the body ${body}`)
      }
    })
  })

  test('broken JSON is refused, by routes that take no body too', async () => {
    const broken = [
      '{',
      '{"a":',
      '{"content":"x"',
      "{'content':'x'}",
      '{"a":1}}',
      'undefined',
      '\u{feff}{',
      '{"a":NaN}',
    ]
    await all(async (route) => {
      for (const body of broken) {
        if (route.method !== 'GET') expectRefusal(await send(route, { body }), `${route.name} with the body ${body}`)
      }
      const cut = Buffer.concat([Buffer.from('{"content":"'), Buffer.from([0xff, 0xfe, 0xc3]), Buffer.from('"')])
      expectSanity(await send(route, { body: cut }), `${route.name} with bytes that are no text`)
    })
  })

  test('U+0000 is refused anywhere', async () => {
    await all(async (route) => {
      const path = filled(route.path, known)
      expectRefusal(await send(route, { path: `${path}?x=%00` }), `${route.name} with %00 in the query`)
      for (const [name, schema] of Object.entries(route.body?.properties ?? {})) {
        if (![schema.type].flat().includes('string')) continue
        const body = { ...validBody(route.body!, known), [name]: 'a\0b' }
        expectRefusal(await send(route, { body }), `${route.name} with U+0000 in ${name}`)
      }
      if (!route.body) return
      const nested = { ...validBody(route.body, known), deep: { er: [{ 'a\0': 1 }] } }
      expectRefusal(await send(route, { body: nested }), `${route.name} with U+0000 in a key`)
    })
    await all(async (route) => {
      for (const name of route.pathParameters) {
        const path = filled(route.path, { ...known, [name]: 'a%00b' })
        expectRefusal(await send(route, { path }), `${route.name} with %00 in ${name}`)
      }
    }, withParameters())
  })

  test('ids that nobody has are unknown, whatever they look like', async () => {
    await all(async (route) => {
      for (const name of route.pathParameters) {
        for (const id of [...strangeIds, '00000000-0000-7000-8000-000000000000']) {
          const path = filled(route.path, { ...known, [name]: id })
          const body = route.body && validBody(route.body, known)
          expectRefusal(await send(route, { path, body }), `${route.name} with ${name} = ${id.slice(0, 60)}`)
        }
      }
    }, withParameters())
  })

  test('bodies beyond the limit are refused', async () => {
    const bodyOf = (megabytes: number) => JSON.stringify({ content: 'x'.repeat(megabytes * 1024 * 1024) })
    const [large, larger] = [bodyOf(2), bodyOf(50)]
    for (const route of routes.filter(({ method }) => method !== 'GET')) {
      const body = /image|files/.test(route.path) ? larger : large
      // Whoever is refused before the body was read may find the connection closed while sending.
      const answer = await send(route, { body }).catch((error: NodeJS.ErrnoException) => error)
      if (answer instanceof Error) expect(answer.code).toMatch(/EPIPE|ECONNRESET/)
      else expectRefusal(answer, `${route.name} with too much`)
    }
  })

  test('a body is not taken under a type that is not JSON', async () => {
    await all(async (route) => {
      const body = JSON.stringify(validBody(route.body!, known))
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'x',
        '',
      ]) {
        const answer = await send(route, { body, headers: { 'content-type': type } })
        expectRefusal(answer, `${route.name} as ${type}`)
      }
    }, withBody())
  })

  test('texts of a million characters are refused', async () => {
    const long = 'ü'.repeat(500_000)
    await all(async (route) => {
      for (const [name, schema] of Object.entries(route.body?.properties ?? {})) {
        if (![schema.type].flat().includes('string')) continue
        const body = { ...validBody(route.body!, known), [name]: long }
        expectRefusal(await send(route, { body }), `${route.name} with a long ${name}`)
      }
      for (const name of Object.keys(route.query)) {
        const path = `${filled(route.path, known)}?${name}=${'x'.repeat(10_000)}`
        expectSanity(await send(route, { path }), `${route.name} with a long ${name}`)
      }
    })
  })

  test('names of Object’s own are names like any other', async () => {
    await all(async (route) => {
      for (const name of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']) {
        const text = `{"${name}":{"isAdmin":true,"length":-1},"email":"x@example.com"}`
        expectSanity(await send(route, { body: text }), `${route.name} with the key ${name}`)
        for (const parameter of Object.keys(route.body?.properties ?? {})) {
          const body = { ...validBody(route.body!, known), [parameter]: name }
          expectSanity(await send(route, { body }), `${route.name} with ${parameter}: ${name}`)
        }
      }
    })
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })

  test('queries that mean nothing are refused, or mean nothing', async () => {
    const numbers = [
      '-1',
      '0',
      '1.5',
      'x',
      '1e309',
      '-0',
      '99999999999999999999',
      'NaN',
      'null',
      '1,2',
      '[1]',
      '0x10',
      '%20',
      '%F0%9F%8D%9C',
    ]
    await all(async (route) => {
      const path = filled(route.path, known)
      for (const [name, schema] of Object.entries(route.query)) {
        const isNumber = ['integer', 'number'].includes([schema.type].flat()[0]!)
        for (const value of numbers) {
          const answer = await send(route, { path: `${path}?${name}=${value}` })
          const what = `${route.name}?${name}=${value}`
          if (name === 'limit' && /^(-1|0|1\.5|x|1e309|NaN|1,2|\[1\])$/.test(value)) expectRefusal(answer, what)
          else expectSanity(answer, what)
        }
        const twice = await send(route, { path: `${path}?${name}=1&${name}=2` })
        if (isNumber) expectRefusal(twice, `${route.name} with two ${name}`)
        else expectSanity(twice, `${route.name} with two ${name}`)
      }
      for (const query of ['%', '%zz', '%ff', '%c3%28', '&&&', '=', 'a[b]=c', '__proto__=1', '%ed%a0%80=1']) {
        expectSanity(await send(route, { path: `${path}?${query}` }), `${route.name}?${query}`)
      }
    })
  })

  test('paths and methods that are none are refused', async () => {
    const paths = [
      '/%',
      '/%zz',
      '/%ff',
      '/..%2f..%2fetc/passwd',
      '//',
      '/channels//messages',
      '/docs/..%2f..%2fpackage.json',
      `/${'a/'.repeat(5_000)}`,
      '/channels/%2e%2e/users',
    ]
    const bearer = { authorization: `Bearer ${adminToken}` }
    for (const path of paths) {
      const answer = await exchange(installation.baseUrl, { method: 'GET', path, headers: bearer })
      expectRefusal(answer, `GET ${path.slice(0, 60)}`)
    }
    for (const method of ['PATCH', 'TRACE', 'PROPFIND', 'HEAD', 'QUERY']) {
      const { status } = await exchange(installation.baseUrl, { method, path: '/channels', headers: bearer })
      expect(status, method).toBeGreaterThanOrEqual(400)
      expect(status, method).toBeLessThan(500)
    }
  })

  test('headers that mean nothing harm nothing', async () => {
    const bad = {
      authorization: [
        `Bearer ${'x'.repeat(7_000)}`,
        'Bearer',
        'Bearer a b',
        'Bearer eyJhbGciOiJub25lIn0.e30.',
        'bearer  ',
        'Bearer \u00ff',
      ],
    }
    for (const authorization of bad.authorization) {
      const answer = await exchange(installation.baseUrl, {
        method: 'GET',
        path: '/auth/me',
        headers: { authorization },
      })
      expect(answer.status, authorization.slice(0, 60)).toBe(401)
      expectSanity(answer, authorization.slice(0, 60))
    }
    const send = routes.find(({ name }) => name === 'POST /channels/{channelId}/messages')!
    for (const key of ['', ' ', 'x'.repeat(5_000), '\u00ff', 'a, b']) {
      const headers = { ...json, authorization: `Bearer ${adminToken}`, 'idempotency-key': key }
      const request = { method: 'POST', path: filled(send.path, known), headers, body: '{"content":"x"}' }
      expectSanity(await exchange(installation.baseUrl, request), `Idempotency-Key ${key.slice(0, 20)}`)
    }
    const tooMany = { authorization: `Bearer ${adminToken}`, 'x-filler': 'x'.repeat(100_000) }
    expectRefusal(
      await exchange(installation.baseUrl, { method: 'GET', path: '/channels', headers: tooMany }),
      'headers',
    )
  })

  test('what is no HTTP is refused, and the connection ended', async () => {
    const { hostname, port } = new URL(installation.baseUrl)
    const nonsense = [
      'nonsense\r\n\r\n',
      'GET /channels HTTP/9.9\r\n\r\n',
      `GET /${'x'.repeat(100_000)} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`,
      `GET /\u00ff HTTP/1.1\r\nHost: ${hostname}\r\nA\u0000: b\r\n\r\n`,
      `POST /channels HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: -5\r\n\r\n`,
      `POST /channels HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `POST /channels HTTP/1.1\r\nHost: ${hostname}\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`,
    ]
    for (const bytes of nonsense) {
      const socket = net.connect(Number(port), hostname)
      socket.write(bytes, 'latin1')
      let answer = ''
      for await (const chunk of socket.setEncoding('utf8')) answer += chunk
      expect(answer, bytes.slice(0, 80)).toMatch(/^HTTP\/1\.1 4\d\d [\s\S]*\r\n\r\n\{"error":"/)
    }
  })

  test('any JSON at all is answered sanely', async () => {
    await all(async (route) => {
      const names = Object.keys(route.body!.properties ?? {})
      const value = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.constantFrom(...Object.values(known)))
      const bodies = fc.dictionary(fc.oneof(fc.constantFrom('x', ...names), fc.string()), value, { maxKeys: 8 })
      await fc.assert(
        fc.asyncProperty(bodies, async (body) => {
          expectSanity(await send(route, { body }), `${route.name} with ${JSON.stringify(body)}`)
        }),
        { numRuns: 15, interruptAfterTimeLimit: 20_000 },
      )
    }, withBody())
  })

  test('any text at all as an id is answered sanely', async () => {
    await all(async (route) => {
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1 }), async (id) => {
          const ids = Object.fromEntries(route.pathParameters.map((name) => [name, encodeURIComponent(id)]))
          const path = filled(route.path, ids)
          expectSanity(await send(route, { path }), `${route.method} ${path}`)
        }),
        { numRuns: 10, interruptAfterTimeLimit: 20_000 },
      )
    }, withParameters())
  })

  test('after all that the server did not complain of a fault of its own, and works', async () => {
    expect(installation.output).not.toMatch(/"level":"?(50|60|error|fatal)/)
    expect(installation.output).not.toMatch(/unhandled|uncaught/i)
    const ann = await Person.signIn(installation.baseUrl, 'ann@example.com')
    const stream = await ann.opensStream()
    const message = await ann.says('all well', await ann.creates({ name: 'afterwards' }))
    await stream.waitFor('NEW_MESSAGE', { id: message.id })
    await stream.close()
  })
})

/** They ask for more than a description can say: a real token, another admin. */
const refusedInAnyCase = [
  'DELETE /auth/sessions',
  'DELETE /auth/sessions/{sessionId}',
  'POST /auth/logout',
  'POST /auth/refresh',
]

const strangeIds = [
  'x',
  '%20',
  '-1',
  '%F0%9F%92%A9',
  '%ff',
  '%',
  '%zz',
  '..%2f..',
  '%2e%2e',
  '__proto__',
  'constructor',
  'dm:x',
  'dm:',
  'null',
  "'%20or%201=1--",
  'a'.repeat(2_000),
]

/** One of each thing that routes name in their paths and bodies; the test before may have deleted the last ones. */
async function somethingOfEverything(baseUrl: string): Promise<Known> {
  const admin = await Person.signIn(baseUrl, 'admin@example.com')
  const bob = await Person.signIn(baseUrl, `${randomUUID()}@example.com`)
  const channel = await admin.creates({ name: `a place ${randomUUID()}` })
  const [message, quoted] = [await admin.says('a word', channel), await admin.says('another', channel)]
  return {
    channelId: channel.id,
    messageId: message.id,
    quotedMessageId: quoted.id,
    id: bob.id,
    userId: bob.id,
    targetUserId: bob.id,
  }
}

/** A few at a time: enough to keep the server busy, few enough to tell a hang from a queue. */
async function inSmallGroups<T>(items: readonly T[], work: (item: T) => Promise<unknown>, size = 8) {
  const left = [...items]
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: size }, worker))
}
