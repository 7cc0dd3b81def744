import cookie from '@fastify/cookie'
import { createUser } from '@parley/accounts'
import type { Config, DeepPartial } from '@parley/config'
import type { Routing, WireEvent } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Person } from '@parley/test'
import { appUrl, type Browser, createBrowser } from '@parley/test/browser'
import { afterAll, beforeAll } from 'vitest'
import { openApp } from '../auth.testing.ts'
import { sessionRoutes } from '../sessions/sessions.routes.ts'
import { type OauthOptions, oauthRoutes } from './oauth.routes.ts'

export interface Recorded {
  type?: WireEvent['type']
  payload?: Record<string, unknown>
  routing: Routing
}

/** The routes that signing in needs, behind a proxy that they trust, over a database of their own. There is no Redis. */
export interface Running {
  /** The owner's connection, for what a test prepares and looks at; the routes have the service's. */
  deps: Deps
  baseUrl: string
  /** What was logged, line by line. */
  logged: string[]
  browser(ip?: string): Browser
  nobody: Person
  /** Whom an access token belongs to. */
  whoIs(token: string | undefined): Promise<{ status: number; user?: Record<string, unknown> }>
  /** Lets time pass for the service, in milliseconds. */
  pass(milliseconds: number): void
  /** What was recorded in the outbox since the last call. */
  recorded(): Promise<Recorded[]>
}

/** Starts it before the tests of a group and stops it after them. */
export function running(
  { auth, oauth }: Pick<DeepPartial<Config>, 'auth' | 'oauth'>,
  options: OauthOptions = {},
): Running {
  const running = { logged: [] } as unknown as Running
  const undo = new AsyncDisposableStack()
  let passed = 0
  let lastId = 0

  beforeAll(async () => {
    const { deps, ofService, fastify } = await openApp(
      { auth: { appUrl, ...auth }, oauth },
      {
        undo,
        clock: () => Date.now() + passed,
        level: 'trace',
        onLogLine: (line) => running.logged.push(line),
      },
    )
    await fastify.register(cookie)
    await fastify.register(oauthRoutes(ofService, options))
    await fastify.register(sessionRoutes(ofService))
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

/** Adds somebody, as an admin would. */
export async function addPerson({ deps: { db, clock } }: Running, name: string): Promise<string> {
  const email = `${name.toLowerCase()}@example.com`
  const add = db.transaction().execute((trx) => createUser(trx, { email, userName: name, ip: null, now: clock() }))
  return (await add)!.id
}
