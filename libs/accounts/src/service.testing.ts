import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Config, type DeepPartial, loadConfig } from '@parley/config'
import type { Routing, WireEvent } from '@parley/contract'
import { buildApp, type Deps, openDeps } from '@parley/service'
import { createDatabase, Person } from '@parley/test'
import { afterAll, beforeAll } from 'vitest'
import { createUser, issueTokens, startSession } from './index.ts'

export interface Recorded {
  type?: WireEvent['type']
  payload?: Record<string, unknown>
  routing: Routing
}

/** One service on a port of its own, over a database of its own, for the tests of a file. */
export interface RunningService {
  deps: Deps
  baseUrl: string
  /** Lets time pass for the service, in milliseconds. */
  pass(milliseconds: number): void
  /** Somebody who has signed in. */
  signedIn(name: string, options?: { isAdmin?: boolean }): Promise<Person>
  /** What was recorded in the outbox since the last call. */
  recorded(): Promise<Recorded[]>
}

/** Starts the service before the tests of the file and stops it after them. */
export function runningService(
  plugin: (deps: Deps) => FastifyPluginAsyncTypebox,
  defaults: DeepPartial<Config> = {},
): RunningService {
  const running = {} as RunningService
  let close = async () => {}

  beforeAll(async () => {
    const database = await createDatabase(20)
    let passed = 0
    let lastId = 0
    const config = await loadConfig({
      argv: [],
      env: {},
      cwd: import.meta.dirname,
      defaults: {
        ...defaults,
        auth: { jwtSecret: 'a-secret-of-tests-with-more-than-32-characters', ...defaults.auth },
        database: { url: database.url, poolSize: 20 },
        redis: { url: 'redis://127.0.0.1:1' },
        log: { level: 'silent' },
      },
    })
    const opened = openDeps('test', config, () => Date.now() + passed)
    const { deps } = opened
    const { fastify } = await buildApp({ deps, checks: {}, position: 'inside' })
    await fastify.register(plugin(deps))
    const baseUrl = await fastify.listen({ host: '127.0.0.1', port: 0 })
    close = async () => {
      await fastify.close()
      await opened.close()
      await database.drop()
    }

    Object.assign(running, {
      deps,
      baseUrl,
      pass: (milliseconds) => {
        passed += milliseconds
      },
      signedIn: (name, options) => signIn(deps, baseUrl, name, options),
      async recorded() {
        const rows = await deps.db
          .selectFrom('outbox')
          .select(['id', 'routing', 'event'])
          .where('id', '>', lastId)
          .orderBy('id')
          .execute()
        lastId = rows.at(-1)?.id ?? lastId
        return rows.map(({ routing, event }) => ({ ...JSON.parse(event ?? '{}'), routing: JSON.parse(routing) }))
      },
    } satisfies RunningService)
  })
  afterAll(() => close())

  return running
}

async function signIn({ db, tokens, clock }: Deps, baseUrl: string, name: string, { isAdmin = false } = {}) {
  const now = clock()
  const { user, session } = await db.transaction().execute(async (trx) => {
    const user = await createUser(trx, {
      email: `${name.toLowerCase()}@example.com`,
      userName: name,
      isAdmin,
      ip: null,
      now,
    })
    if (!user) throw new Error(`${name} is in the house already`)
    const key = { userId: user.id, ip: '192.0.2.1', userAgent: 'test', seconds: 604_800, maxActive: 3, now }
    return { user, session: await startSession(trx, key) }
  })
  const { accessToken, refreshToken } = await issueTokens(tokens, session, 900)
  return new Person(baseUrl, user, accessToken, refreshToken)
}
