import { randomUUID } from 'node:crypto'
import { Person } from '@parley/test'
import { type TestEnvironment, testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Known } from '../hostile/routes.ts'
import { badCredentials } from './credentials.ts'
import { type GuardedRoute, guardedRoutes, requestRoute } from './guarded-routes.ts'
import { allowedBeforeEnrolment, forBots, refusedToBots, refusedToGuests, scopeFor, table } from './table.ts'

/** Creating a person for each route takes long on a busy machine. */
const patient = { timeout: 180_000 }

describe('every route', () => {
  const environment = testEnvironment({ auth: { maxActiveSessions: 1_000 } })
  const guarded = watched(environment)
  const demanding = (...demands: GuardedRoute['demand'][]) =>
    guarded.routes.filter(({ demand }) => demands.includes(demand))

  test('has its row in the table, every row its route, and both say the same', () => {
    const described = guarded.routes.map(({ name, access }) => [name, name === 'GET /events' ? 'stream' : access])
    expect(Object.fromEntries(described)).toEqual(table)
    expect(guarded.routes).toHaveLength(Object.keys(table).length)
  })

  test('that requires a token refuses anything else', patient, async () => {
    const { general } = environment.channel
    await inSmallGroups(demanding('user', 'token', 'stream', 'admin'), async (route) => {
      for (const [what, token] of guarded.bad) {
        const { status, error, headers } = await requestRoute(environment.baseUrl, route, token, {
          channelId: general.id,
        })
        expect({ route: route.name, what, status }).toEqual({ route: route.name, what, status: 401 })
        expect(error).toEqual(expect.any(String))
        expect([route.name, headers.get('www-authenticate')]).toEqual([route.name, 'Bearer'])
        expectPrivate(route, headers)
      }
    })
  })

  test('that demands a token does not accept the session cookie instead, except for logout', patient, async () => {
    const { person, known } = await somebody(environment, `${randomUUID()}@example.com`)
    for (const route of lastLogout(demanding('user', 'token', 'stream', 'admin'))) {
      const cookie = `parley_session=${person.refreshToken}`
      const send = (more: Record<string, string>) =>
        requestRoute(environment.baseUrl, { ...route, body: undefined }, undefined, known, more)
      const expected = route.name === 'POST /auth/logout' ? 200 : 401
      expect([route.name, (await send({ cookie })).status]).toEqual([route.name, 401])
      const { status } = await send({ cookie, 'x-parley-session': 'cookie' })
      expect([route.name, status]).toEqual([route.name, expected])
    }
  })

  test('that takes its token from the query refuses the same there', async () => {
    for (const [what, token = ''] of guarded.bad) {
      for (const { name, path } of demanding('stream')) {
        const { status } = await fetch(`${environment.baseUrl}${path}?token=${token}`)
        expect({ name, what, status }).toEqual({ name, what, status: 401 })
      }
    }
  })

  test('accepts people who are signed in, except on routes for admins', patient, async () => {
    const refused = await somebody(environment, `${randomUUID()}@example.com`)
    await inSmallGroups(demanding('admin'), async (route) => {
      const { status } = await requestRoute(environment.baseUrl, route, refused.person.token, refused.known)
      expect(`${route.name} ${status}`).toBe(`${route.name} 403`)
    })
    await inSmallGroups(demanding('user', 'token', 'stream'), async (route) => {
      const { person, known } = await somebody(environment, `${randomUUID()}@example.com`)
      const { status } = await requestRoute(environment.baseUrl, route, person.token, known)
      expectPassed(route, status)
    })
  })

  test('refuses a session without its second factor, except to set one up', patient, async () => {
    const { person, known } = await somebody(environment, 'ada@example.com')
    const { sessionId } = environment.deps.tokens.readRefresh(person.refreshToken!)
    await environment.deps.db.updateTable('sessions').set({ mustEnrol: true }).where('id', '=', sessionId).execute()
    for (const route of lastLogout(demanding('user', 'token', 'stream', 'admin'))) {
      const { status, error } = await requestRoute(environment.baseUrl, route, person.token, known)
      if (allowedBeforeEnrolment.has(route.name)) expectPassed(route, status)
      else expect([route.name, status, error]).toEqual([route.name, 403, expect.stringContaining('second factor')])
    }
  })

  test('accepts an admin', patient, async () => {
    for (const route of demanding('user', 'token', 'stream', 'admin')) {
      const { person, known } = await somebody(environment, 'ada@example.com')
      const { status, headers } = await requestRoute(environment.baseUrl, route, person.token, known)
      expectPassed(route, status)
      expectPrivate(route, headers)
    }
  })

  test('accepts a guest, except on routes for admins and those closed to guests', patient, async () => {
    const { guest, known } = await guestIn(environment)
    for (const route of lastLogout(demanding('user', 'token', 'stream', 'admin'))) {
      const { status } = await requestRoute(environment.baseUrl, route, guest.token, known)
      const isRefused = route.demand === 'admin' || refusedToGuests.has(route.name)
      if (isRefused) expect(`${route.name} ${status}`).toBe(`${route.name} 403`)
      else expectPassed(route, status)
    }
  })

  test('accepts a bot on routes for everybody and for bots', patient, async () => {
    const ada = await Person.signIn(environment.baseUrl, 'ada@example.com')
    const { bot } = (await ada.post('/bots', { userName: 'a working bot' })).body
    const { token } = (await ada.post(`/bots/${bot.id}/tokens`, { name: 'all', scopes: ['write'] })).body
    const { known } = await somebody(environment, `${randomUUID()}@example.com`)
    await inSmallGroups(demanding('user', 'token', 'stream', 'admin'), async (route) => {
      const { status } = await requestRoute(environment.baseUrl, route, token, known)
      const isRefused = ['none', 'admin'].includes(scopeFor(route.name))
      if (isRefused) expect(`${route.name} ${status}`).toBe(`${route.name} 403`)
      else
        expect([401, 403].includes(status) && !refusedToBots.has(route.name), `${route.name} → ${status}`).toBe(false)
    })
  })

  test('accepts an API token with the scope that it needs, and refuses every smaller one', patient, async () => {
    const ada = await Person.signIn(environment.baseUrl, 'ada@example.com')
    const scopes = ['read', 'write', 'admin'] as const
    const responses = scopes.map((scope) => ada.post('/auth/tokens', { name: scope, scopes: [scope] }))
    const tokens = (await Promise.all(responses)).map(({ body }) => body.token as string)
    for (const route of demanding('user', 'token', 'stream', 'admin')) {
      const needed = scopeFor(route.name)
      const enough = needed === 'none' ? scopes.length : scopes.indexOf(needed)
      for (const token of tokens.slice(0, enough)) {
        const { status, headers } = await requestRoute(environment.baseUrl, route, token, {})
        expect([route.name, status, headers.get('www-authenticate')]).toEqual([
          route.name,
          403,
          'Bearer error="insufficient_scope"',
        ])
      }
      if (enough === scopes.length) continue
      const { known } = await somebody(environment, 'ada@example.com')
      // A request with an API token cannot set a password.
      const { password: _password, ...properties } = route.body?.properties ?? {}
      const asked = { ...route, body: route.body && { ...route.body, properties } }
      const { status } = await requestRoute(environment.baseUrl, asked, tokens[enough], known)
      expectPassed(route, status)
    }
  })
})

/** Routes that end the session or remove the person come last. */
const endsSession = new Set(['POST /auth/logout', 'DELETE /auth/sessions', 'POST /users/exit'])
const lastLogout = (routes: GuardedRoute[]) => [
  ...routes.filter(({ name }) => !endsSession.has(name) && !name.endsWith('/leave')),
  ...routes.filter(({ name }) => name === 'POST /auth/logout'),
]

/** Runs six pieces of work at a time. */
async function inSmallGroups<T>(items: readonly T[], work: (item: T) => Promise<void>) {
  const left = [...items]
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: 6 }, worker))
}

// The routes that need no access token differ between the modes.
describe.each(['dev', 'magic-link', 'password'] as const)('a route for everybody in %s mode', (authMode) => {
  const environment = testEnvironment({
    auth: { authMode, isInviteRequired: false, maxActiveSessions: 1_000 },
    email: { host: '127.0.0.1', port: 1 },
  })
  const guarded = watched(environment)

  test('responds the same without a token and with any token', { timeout: 120_000 }, async () => {
    const open = guarded.routes.filter(({ demand }) => demand === 'none')
    expect(open.length).toBeGreaterThan(5)
    for (const route of open) {
      const { status: expected, headers } = await requestRoute(environment.baseUrl, route, undefined, {})
      expect(expected).toBeLessThan(500)
      expectPrivate(route, headers)
      for (const [what, token] of [...guarded.bad, ...guarded.good]) {
        const { status } = await requestRoute(environment.baseUrl, route, token, {})
        expect({ route: route.name, what, status }).toEqual({ route: route.name, what, status: expected })
      }
    }
  })
})

/** The routes of a test environment, the credentials that must be refused, and those that must be accepted. */
function watched(environment: TestEnvironment) {
  const watch = {} as {
    routes: GuardedRoute[]
    bad: Map<string, string | undefined>
    good: Map<string, string | undefined>
  }
  beforeAll(async () => {
    watch.routes = await guardedRoutes(environment.people.nobody)
    watch.bad = await badCredentials(environment)
    watch.good = new Map([
      ['a user’s token', environment.people.ann.token],
      ['an admin’s token', environment.people.ada.token],
    ])
  })
  return watch
}

/** A person with their own session, because it may be ended, and one of each thing that they may change. */
async function somebody({ baseUrl }: TestEnvironment, email: string): Promise<{ person: Person; known: Known }> {
  const person = await Person.signIn(baseUrl, email)
  const other = await Person.signIn(baseUrl, `${randomUUID()}@example.com`)
  const channel = await person.creates({ name: `a place ${randomUUID()}` })
  const [message, quoted] = [await person.says('a word', channel), await person.says('another', channel)]
  return {
    person,
    known: {
      channelId: channel.id,
      messageId: message.id,
      quotedMessageId: quoted.id,
      id: other.id,
      userId: other.id,
      targetUserId: other.id,
      refreshToken: person.refreshToken!,
    },
  }
}

/** A guest, and one of each thing in a channel of which they are a member. */
async function guestIn(environment: TestEnvironment) {
  const ada = await Person.signIn(environment.baseUrl, 'ada@example.com')
  const email = `${randomUUID()}@example.com`
  await ada.post('/users/add', { email, role: 'guest' })
  const guest = await Person.signIn(environment.baseUrl, email)
  const { known } = await somebody(environment, 'ada@example.com')
  await ada.put(`/channels/${known.channelId}`, { members: [guest.id] })
  // A guest may use no group, so any id serves.
  const { group } = (await ada.post('/groups', { handle: `team ${randomUUID()}`, name: 'Team' })).body
  return { guest, known: { ...known, groupId: group.id, refreshToken: guest.refreshToken! } }
}

/** Neither a shared cache nor the browser's cache may keep the response for another person. */
function expectPrivate({ name }: GuardedRoute, headers: Headers) {
  const header = headers.get('cache-control')
  expect([name, header]).toEqual([name, expect.stringMatching(/^(no-store|private, no-cache)$/)])
  if (header !== 'no-store') expect(headers.get('etag')).not.toBe(null)
}

function expectPassed({ name }: GuardedRoute, status: number) {
  expect(forBots.has(name) ? [401] : [401, 403], `${name} → ${status}`).not.toContain(status)
  expect(status, name).toBeLessThan(500)
}
