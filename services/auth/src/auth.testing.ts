import {
  createPasswordHasher,
  createUser,
  hashPassword,
  type PasswordHasher,
  type PasswordHasherOptions,
  readEmail,
} from '@parley/accounts'
import type { Config, DeepPartial } from '@parley/config'
import type { JobData } from '@parley/contract'
import { buildApp, type Deps, openDeps } from '@parley/service'
import { createLogger } from '@parley/telemetry'
import { configWithoutServers, createDatabase, Person } from '@parley/test'
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

export interface OpenAppOptions {
  /** Gets what closes the app and drops its database. */
  undo: AsyncDisposableStack
  clock: () => number
  level?: 'info' | 'trace'
  onLogLine(line: string): void
}

/** An app without routes yet, over a database of its own and without Redis: signing in works without it. */
export async function openApp(
  defaults: DeepPartial<Config>,
  { undo, clock, level = 'info', onLogLine }: OpenAppOptions,
) {
  const database = await createDatabase(1)
  undo.defer(() => database.drop())
  const config = await configWithoutServers({ ...defaults, database: { url: database.url, poolSize: 12 } })
  const { deps, signedInAt, close } = openDeps('auth', config, clock)
  undo.defer(close)
  const logger = createLogger({ service: 'auth', level, destination: { write: onLogLine } })
  const ofService = { ...signedInAt(database.urlOf('auth')), logger }
  const { fastify } = await buildApp({ deps: ofService, checks: {}, position: 'inside' })
  undo.defer(() => fastify.close())
  return { deps, ofService, fastify }
}

/** Deriving a password is cheap in most tests. */
const cheap: PasswordHasherOptions = { cost: { N: 2 ** 10, r: 8, p: 1 } }

/** This service alone, for the sign-in modes in which the people of a test environment cannot sign in. */
export function runningAuth(defaults: DeepPartial<Config>, hashing: PasswordHasherOptions = cheap): RunningAuth {
  const running = { logs: [] as RunningAuth['logs'] } as RunningAuth
  const undo = new AsyncDisposableStack()
  let passed = 0

  beforeAll(async () => {
    const { deps, ofService, fastify } = await openApp(defaults, {
      undo,
      clock: () => Date.now() + passed,
      onLogLine: (line) => running.logs.push(JSON.parse(line)),
    })
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
