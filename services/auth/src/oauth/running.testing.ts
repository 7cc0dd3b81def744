import cookie from '@fastify/cookie'
import { createUser } from '@parley/accounts'
import type { Config, DeepPartial } from '@parley/config'
import type { Routing, WireEvent } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Person } from '@parley/test'
import { appUrl, type Browser, createBrowser } from '@parley/test/browser'
import { afterAll, beforeAll } from 'vitest'
import { openApp } from '../auth.testing.ts'
import { providerTestRoutes } from '../provider-tests/provider-tests.routes.ts'
import { samlRoutes } from '../saml/saml.routes.ts'
import { logoutRoutes } from '../sessions/logout.routes.ts'
import { sessionRoutes } from '../sessions/sessions.routes.ts'
import { backchannelLogoutRoutes } from './backchannel-logout.routes.ts'
import { oauthRoutes } from './oauth.routes.ts'
import { configuredProviders, type ProviderOptions } from './providers.ts'

export interface Recorded {
  type?: WireEvent['type']
  payload?: Record<string, unknown>
  routing: Routing
}

/**
 * A server with the routes of sign-ins through providers, with its own database and without Redis. It trusts the proxy
 * in front of it.
 */
export interface Running {
  /** Uses the database owner's connection, to prepare and inspect data. The routes have the service's connection. */
  deps: Deps
  baseUrl: string
  /** The logged lines. */
  logged: string[]
  browser(ip?: string): Browser
  nobody: Person
  /** The user of an access token. */
  whoIs(token: string | undefined): Promise<{ status: number; user?: Record<string, unknown> }>
  /** Moves the clock of the service forward, in milliseconds. */
  pass(milliseconds: number): void
  /** The events that were recorded in the outbox since the last call. */
  recorded(): Promise<Recorded[]>
}

/** Starts the server before the tests of a group and stops it after them. */
export function running(
  { auth, oauth, saml }: Pick<DeepPartial<Config>, 'auth' | 'oauth' | 'saml'>,
  options: ProviderOptions = {},
): Running {
  const running = { logged: [] } as unknown as Running
  const undo = new AsyncDisposableStack()
  let passed = 0
  let lastId = 0

  beforeAll(async () => {
    const { deps, ofService, fastify } = await openApp(
      { auth: { appUrl, ...auth }, oauth, saml },
      {
        undo,
        clock: () => Date.now() + passed,
        level: 'trace',
        onLogLine: (line) => running.logged.push(line),
      },
    )
    await fastify.register(cookie)
    const providers = configuredProviders(ofService, options)
    await fastify.register(oauthRoutes(ofService, providers))
    await fastify.register(backchannelLogoutRoutes(ofService, providers))
    await fastify.register(samlRoutes(ofService))
    await fastify.register(providerTestRoutes(ofService))
    await fastify.register(sessionRoutes(ofService))
    await fastify.register(logoutRoutes(ofService, providers))
    const baseUrl = await fastify.listen({ host: '127.0.0.1', port: 0 })
    Object.assign(running, { deps, baseUrl, nobody: Person.nobody(baseUrl) })
  })
  afterAll(() => undo.disposeAsync())

  running.browser = (ip) => createBrowser(running.baseUrl, ip)
  running.whoIs = async (token) => {
    const { status, body } = await running.nobody.get('/auth/me', { authorization: `Bearer ${token}` })
    return { status, user: body.user }
  }
  running.pass = (milliseconds) => {
    passed += milliseconds
  }
  running.recorded = async () => {
    const rows = await running.deps.db
      .selectFrom('outbox')
      .select(['id', 'routing', 'event'])
      .where('id', '>', lastId)
      .orderBy('id')
      .execute()
    lastId = rows.at(-1)?.id ?? lastId
    return rows.map(({ routing, event }) => ({ ...JSON.parse(event ?? '{}'), routing: JSON.parse(routing) }))
  }
  return running
}

/** Adds a person, as an admin does. */
export async function addPerson({ deps: { db, clock } }: Running, name: string): Promise<string> {
  const email = `${name.toLowerCase()}@example.com`
  const add = db.transaction().execute((trx) => createUser(trx, { email, userName: name, ip: null, now: clock() }))
  return (await add)!.id
}
