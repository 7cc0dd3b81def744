import fc from 'fast-check'
import { expect, test } from 'vitest'
import { expectRefusal, expectSanity } from './exchange.ts'
import { filled, idsFor, isText, validBody, validPath, wrongValues } from './routes.ts'
import { somethingOfEverything, type TargetServer } from './target-server.ts'

/**
 * Routes for which this test does not create a valid request, because they need a special state: a person without a
 * password, a webhook without an admin, an encoded avatar, a public channel, a sign-in provider, a person with a second
 * factor, a bot as caller, a role with a matching end, a cursor, a message with a button, a service as caller, a name
 * without spaces.
 */
const wantsMore = [
  '/admin/sso/{providerId}/test',
  '/users/{id}/second-factors',
  '/users/{id}/role',
  '/users/add',
  '/consumers',
  '/consumers/{name}',
  '/subscriptions/{subscriptionId}/replay',
  '/users/{id}/invite',
  '/webhooks/{webhookId}/take-over',
  '/users/{id}/avatar/{version}',
  '/channels/{channelId}/join',
  '/commands',
  '/commands/{commandId}',
  '/messages/{messageId}/actions',
  '/apps/{botId}/messages',
  '/apps/{botId}/messages/{messageId}',
]

/** Optional fields that prove who the caller is. They exclude each other, and the session of these requests is too new to need one. */
const proofs = ['code', 'recoveryCode', 'credential']

const withoutProofs = (body: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !proofs.includes(name)))

/** Routes that need one of their optional fields. */
const needsOne = [
  '/users/me',
  '/users/me/notifications',
  '/users/me/status',
  '/bots/{botId}',
  '/subscriptions',
  '/subscriptions/{subscriptionId}',
]

export function bodyAttacks(server: TargetServer) {
  test('the same requests unspoilt are taken: it is what is spoilt below that is refused', async () => {
    const refused: string[] = []
    await server.all(
      async (route) => {
        const things = route.method === 'DELETE' ? await somethingOfEverything(server.baseUrl) : server.known
        const own = idsFor(route, things)
        const path = validPath(route, own)
        const sent = route.isBinary
          ? { body: Buffer.from('some notes'), headers: { 'content-type': 'application/octet-stream' } }
          : { body: route.body && withoutProofs(validBody(route.body, own)) }
        const { status, text } = await server.send(route, { path, ...sent })
        if (status >= 400) refused.push(`${route.name}: ${status} ${text}`)
      },
      // The routes of signing in have conditions that a description does not contain: the active mode, a real token.
      server.routes.filter(({ path }) => !path.startsWith('/auth/') && !wantsMore.includes(path)),
    )
    expect(refused, 'refused, or in want of something in somethingOfEverything()').toEqual([])
  })

  test('values of the wrong type are refused', async () => {
    await server.all(async (route) => {
      for (const [name, schema] of Object.entries(route.body!.properties ?? {})) {
        for (const wrong of wrongValues(schema)) {
          const body = { ...validBody(route.body!, idsFor(route, server.known)), [name]: wrong }
          expectRefusal(await server.send(route, { body }), `${route.name} with ${name}: ${JSON.stringify(wrong)}`)
        }
      }
    }, server.withBody)
  })

  test('null in an optional field counts as absent, in a required one it is refused', async () => {
    const refused: string[] = []
    await server.all(
      async (route) => {
        const things = route.method === 'DELETE' ? await somethingOfEverything(server.baseUrl) : server.known
        const { properties = {}, required = [] } = route.body!
        const body = validBody(route.body!, idsFor(route, things))
        for (const name of Object.keys(properties)) if (!required.includes(name)) body[name] = null
        const path = validPath(route, idsFor(route, things))
        const { status, text } = await server.send(route, { path, body })
        if (status >= 400) refused.push(`${route.name}: ${status} ${text}`)
      },
      server.withBody.filter(
        ({ path, isBinary }) => !path.startsWith('/auth/') && ![...wantsMore, ...needsOne].includes(path) && !isBinary,
      ),
    )
    expect(refused).toEqual([])

    await server.all(async (route) => {
      for (const name of route.body!.required ?? []) {
        const body = { ...validBody(route.body!, idsFor(route, server.known)), [name]: null }
        expectRefusal(await server.send(route, { body }), `${route.name} with ${name}: null`)
      }
    }, server.withBody)
  })

  test('missing fields are refused', async () => {
    await server.all(async (route) => {
      for (const name of route.body!.required ?? []) {
        const { [name]: _left, ...body } = validBody(route.body!, idsFor(route, server.known))
        expectRefusal(await server.send(route, { body }), `${route.name} without ${name}`)
      }
    }, server.withBody)
  })

  test('bodies that are no object are refused', async () => {
    await server.all(async (route) => {
      for (const body of ['[]', 'null', '"text"', '1', 'true', '[{}]']) {
        const answer = await server.send(route, { body })
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
    await server.all(
      async (route) => {
        for (const body of broken) {
          if (route.method !== 'GET')
            expectRefusal(await server.send(route, { body }), `${route.name} with the body ${body}`)
        }
        const cut = Buffer.concat([Buffer.from('{"content":"'), Buffer.from([0xff, 0xfe, 0xc3]), Buffer.from('"')])
        expectSanity(await server.send(route, { body: cut }), `${route.name} with bytes that are no text`)
      },
      server.routes.filter(({ isBinary }) => !isBinary),
    )
  })

  test('bodies beyond the limit are refused', async () => {
    const bodyOf = (megabytes: number) => JSON.stringify({ content: 'x'.repeat(megabytes * 1024 * 1024) })
    const [large, larger] = [bodyOf(2), bodyOf(50)]
    for (const route of server.routes.filter(({ method }) => method !== 'GET')) {
      const body = /image|files/.test(route.path) ? larger : large
      // If a request is refused before its body was read, the connection may be closed while the client sends.
      const answer = await server.send(route, { body }).catch((error: NodeJS.ErrnoException) => error)
      if (answer instanceof Error) expect(answer.code).toMatch(/EPIPE|ECONNRESET/)
      else expectRefusal(answer, `${route.name} with too much`)
    }
  })

  test('a body is not taken under a type that is not JSON', async () => {
    await server.all(async (route) => {
      const body = JSON.stringify(validBody(route.body!, idsFor(route, server.known)))
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'x',
        '',
      ]) {
        const answer = await server.send(route, { body, headers: { 'content-type': type } })
        expectRefusal(answer, `${route.name} as ${type}`)
      }
    }, server.withBody)
  })

  test('texts of a million characters are refused', async () => {
    const long = 'ü'.repeat(500_000)
    await server.all(async (route) => {
      for (const [name, schema] of Object.entries(route.body?.properties ?? {})) {
        if (!isText(schema)) continue
        const body = { ...validBody(route.body!, idsFor(route, server.known)), [name]: long }
        expectRefusal(await server.send(route, { body }), `${route.name} with a long ${name}`)
      }
      for (const name of Object.keys(route.query)) {
        const path = `${filled(route.path, idsFor(route, server.known))}?${name}=${'x'.repeat(10_000)}`
        expectSanity(await server.send(route, { path }), `${route.name} with a long ${name}`)
      }
    })
  })

  test('names of Object’s own are names like any other', async () => {
    await server.all(async (route) => {
      for (const name of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']) {
        const text = `{"${name}":{"isAdmin":true,"length":-1},"email":"x@example.com"}`
        expectSanity(await server.send(route, { body: text }), `${route.name} with the key ${name}`)
        for (const parameter of Object.keys(route.body?.properties ?? {})) {
          const body = { ...validBody(route.body!, idsFor(route, server.known)), [parameter]: name }
          expectSanity(await server.send(route, { body }), `${route.name} with ${parameter}: ${name}`)
        }
      }
    })
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })

  test('any JSON at all is answered sanely', async () => {
    await server.all(async (route) => {
      const names = Object.keys(route.body!.properties ?? {})
      const value = fc.oneof(
        fc.jsonValue(),
        fc.string({ unit: 'binary' }),
        fc.constantFrom(...Object.values(server.known)),
      )
      const bodies = fc.dictionary(fc.oneof(fc.constantFrom('x', ...names), fc.string()), value, { maxKeys: 8 })
      await fc.assert(
        fc.asyncProperty(bodies, async (body) => {
          expectSanity(await server.send(route, { body }), `${route.name} with ${JSON.stringify(body)}`)
        }),
        { numRuns: 15, interruptAfterTimeLimit: 20_000 },
      )
    }, server.withBody)
  })
}
