import fc from 'fast-check'
import { expect, test } from 'vitest'
import { exchange, expectRefusal, expectSanity } from './exchange.ts'
import { filled, idsFor, isText, validBody, validPath } from './routes.ts'
import type { TargetServer } from './target-server.ts'

export function addressAttacks(server: TargetServer) {
  test('a number in the query is written in digits and nothing else', async () => {
    await server.all(async (route) => {
      const ids = idsFor(route, server.known)
      for (const [name, { type }] of Object.entries(route.query)) {
        if (type !== 'integer') continue
        for (const text of ['+5', '5.0', '0x5', ' 5', '5 ', '1e1', '5_0', '٥', '']) {
          const path = validPath(route, ids)
          const query = `${path.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(text)}`
          const answer = await server.send(route, { path: path + query })
          const { error } = JSON.parse(answer.text)
          expect([answer.status, error], query).toEqual([400, `${name} must be a whole number, written in digits`])
        }
      }
    })
  })

  test('U+0000 is refused anywhere', async () => {
    await server.all(async (route) => {
      const path = filled(route.path, idsFor(route, server.known))
      expectRefusal(await server.send(route, { path: `${path}?x=%00` }), `${route.name} with %00 in the query`)
      for (const [name, schema] of Object.entries(route.body?.properties ?? {})) {
        if (!isText(schema)) continue
        const body = { ...validBody(route.body!, idsFor(route, server.known)), [name]: 'a\0b' }
        expectRefusal(await server.send(route, { body }), `${route.name} with U+0000 in ${name}`)
      }
      if (!route.body) return
      const nested = { ...validBody(route.body, idsFor(route, server.known)), deep: { er: [{ 'a\0': 1 }] } }
      expectRefusal(await server.send(route, { body: nested }), `${route.name} with U+0000 in a key`)
    })
    await server.all(async (route) => {
      for (const name of route.pathParameters) {
        const path = filled(route.path, { ...idsFor(route, server.known), [name]: 'a%00b' })
        expectRefusal(await server.send(route, { path }), `${route.name} with %00 in ${name}`)
      }
    }, server.withParameters)
  })

  test('HEAD is answered wherever GET is: the same status, no body', async () => {
    await server.all(
      async (route) => {
        const path = validPath(route, idsFor(route, server.known))
        const get = await server.send(route, { path })
        const head = await server.send({ ...route, method: 'HEAD' }, { path })
        expect([head.status, head.text], `HEAD ${path}`).toEqual([get.status, ''])
      },
      server.routes.filter(({ method }) => method === 'GET'),
    )
    const headers = { authorization: `Bearer ${server.adminToken}` }
    for (const path of ['/', '/docs', '/openapi.json', '/health', '/health/ready', '/events']) {
      const { status, text } = await exchange(server.baseUrl, { method: 'HEAD', path, headers })
      expect([status < 400, text], `HEAD ${path} → ${status}`).toEqual([true, ''])
    }
    const unknown = { authorization: 'Bearer a.b.c' }
    for (const path of ['/events', '/channels']) {
      expect((await exchange(server.baseUrl, { method: 'HEAD', path, headers: unknown })).status).toBe(401)
    }
  })

  test('ids that nobody has are unknown, whatever they look like', async () => {
    await server.all(async (route) => {
      for (const name of route.pathParameters) {
        for (const id of [...strangeIds, '00000000-0000-7000-8000-000000000000']) {
          const path = filled(route.path, { ...idsFor(route, server.known), [name]: id })
          const body = route.body && validBody(route.body, idsFor(route, server.known))
          expectRefusal(await server.send(route, { path, body }), `${route.name} with ${name} = ${id.slice(0, 60)}`)
        }
      }
    }, server.withParameters)
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
    await server.all(async (route) => {
      const path = filled(route.path, idsFor(route, server.known))
      for (const [name, schema] of Object.entries(route.query)) {
        const isNumber = ['integer', 'number'].includes([schema.type].flat()[0]!)
        for (const value of numbers) {
          const answer = await server.send(route, { path: `${path}?${name}=${value}` })
          const what = `${route.name}?${name}=${value}`
          if (name === 'limit' && /^(-1|0|1\.5|x|NaN|1,2|\[1\])$/.test(value)) expectRefusal(answer, what)
          else expectSanity(answer, what)
        }
        const twice = await server.send(route, { path: `${path}?${name}=1&${name}=2` })
        if (isNumber) expectRefusal(twice, `${route.name} with two ${name}`)
        else expectSanity(twice, `${route.name} with two ${name}`)
      }
      for (const query of ['%', '%zz', '%ff', '%c3%28', '&&&', '=', 'a[b]=c', '__proto__=1', '%ed%a0%80=1']) {
        expectSanity(await server.send(route, { path: `${path}?${query}` }), `${route.name}?${query}`)
      }
    })
  })

  test('any text at all as an id is answered sanely', async () => {
    await server.all(async (route) => {
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1 }), async (id) => {
          const ids = Object.fromEntries(route.pathParameters.map((name) => [name, encodeURIComponent(id)]))
          const path = filled(route.path, ids)
          expectSanity(await server.send(route, { path }), `${route.method} ${path}`)
        }),
        { numRuns: 10, interruptAfterTimeLimit: 20_000 },
      )
    }, server.withParameters)
  })
}

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
