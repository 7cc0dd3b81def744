import {
  createPasswordHasher,
  createUser,
  hashPassword,
  type PasswordHasher,
  type PasswordHasherOptions,
  readEmail,
} from '@parley/accounts'
import { type Config, type DeepPartial, loadConfig } from '@parley/config'
import type { JobData } from '@parley/contract'
import { buildApp, type Deps, openDeps } from '@parley/service'
import { createLogger } from '@parley/telemetry'
import { createDatabase, Person } from '@parley/test'
import { afterAll, beforeAll, expect } from 'vitest'
import { auth } from './service.ts'

export interface RunningAuth {
  /** The owner's connection, for what a test prepares and looks at; the service has its own. */
  deps: Deps
  passwords: PasswordHasher
  nobody: Person
  /** Adds somebody as an admin would. */
  invite(email: string, password?: string): Promise<{ id: string }>
  /** What was recorded for this address, oldest first; nobody sends it. */
  mailTo(email: string): Promise<JobData<'send-mail'>[]>
  /** What was logged, oldest first. */
  logs: Record<string, unknown>[]
  /** Lets time pass, in milliseconds. */
  pass(milliseconds: number): void
}

/** The reply of every sign-in, with an access token that lasts so many seconds. */
export const tokensOf = (exp: number) => ({
  accessToken: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
  refreshToken: expect.any(String),
  exp,
  tokenType: 'Bearer',
})

/** What takes long takes less here. */
const cheap: PasswordHasherOptions = { cost: { N: 2 ** 10, r: 8, p: 1 } }

/** This service alone, for the sign-in modes in which the people of a test environment cannot sign in. */
export function runningAuth(defaults: DeepPartial<Config>, hashing: PasswordHasherOptions = cheap): RunningAuth {
  const running = { logs: [] as RunningAuth['logs'] } as RunningAuth
  const undo = new AsyncDisposableStack()
  let passed = 0

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
    const { deps, signedInAt, close } = openDeps('auth', config, () => Date.now() + passed)
    undo.defer(close)
    const write = (line: string) => running.logs.push(JSON.parse(line))
    const logger = createLogger({ service: 'auth', level: 'info', destination: { write } })
    const ofService = { ...signedInAt(database.urlOf('auth')), logger }
    const { fastify } = await buildApp({ deps: ofService, checks: {}, position: 'inside' })
    undo.defer(() => fastify.close())
    running.deps = deps
    running.passwords = createPasswordHasher(hashing)
    await fastify.register(auth(ofService, running.passwords))
    running.nobody = Person.nobody(await fastify.listen({ host: '127.0.0.1', port: 0 }))
    running.invite = async (email, password) => {
      const passwordHash = password === undefined ? null : await hashPassword(password, hashing.cost)
      const input = { email: readEmail(email), passwordHash, ip: null, now: deps.clock() }
      const user = await deps.db.transaction().execute((trx) => createUser(trx, input))
      if (!user) throw new Error(`${email} is there already`)
      return user
    }
  })
  afterAll(() => undo.disposeAsync())
  running.mailTo = async (email) => {
    const jobs = await running.deps.db
      .selectFrom('jobs')
      .select('data')
      .where('name', '=', 'send-mail')
      .orderBy('id')
      .execute()
    return jobs.map(({ data }) => data as JobData<'send-mail'>).filter(({ to }) => to === email)
  }
  running.pass = (milliseconds) => {
    passed += milliseconds
  }

  return running
}
