import { createUser, readEmail } from '@parley/accounts'
import { type Config, type DeepPartial, loadConfig } from '@parley/config'
import { buildApp, openDeps } from '@parley/service'
import { createDatabase, Person } from '@parley/test'
import { afterAll, beforeAll } from 'vitest'
import { auth } from './service.ts'

export interface RunningAuth {
  nobody: Person
  /** Adds somebody as an admin would. */
  invite(email: string): Promise<{ id: string }>
}

/** This service alone, for the sign-in modes in which the cast of a house could not come in. */
export function runningAuth(defaults: DeepPartial<Config>): RunningAuth {
  const running = {} as RunningAuth
  const undo = new AsyncDisposableStack()

  beforeAll(async () => {
    const database = await createDatabase(1)
    undo.defer(() => database.drop())
    const config = await loadConfig({
      argv: [],
      env: {},
      cwd: import.meta.dirname,
      defaults: {
        ...defaults,
        auth: { jwtSecret: 'a-secret-of-tests-with-more-than-32-characters', ...defaults.auth },
        database: { url: database.url },
        // Nobody listens there: signing in works without Redis.
        redis: { url: 'redis://127.0.0.1:1' },
        log: { level: 'silent' },
      },
    })
    const { deps, close } = openDeps('auth', config)
    undo.defer(close)
    const { fastify } = await buildApp({ deps, checks: {}, position: 'inside' })
    undo.defer(() => fastify.close())
    await fastify.register(auth(deps))
    running.nobody = Person.nobody(await fastify.listen({ host: '127.0.0.1', port: 0 }))
    running.invite = async (email) => {
      const input = { email: readEmail(email), ip: null, now: deps.clock() }
      const user = await deps.db.transaction().execute((trx) => createUser(trx, input))
      if (!user) throw new Error(`${email} is there already`)
      return user
    }
  })
  afterAll(() => undo.disposeAsync())

  return running
}
