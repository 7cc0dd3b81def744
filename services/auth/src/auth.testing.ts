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
  /** Uses the database owner's connection, to prepare and inspect data. The service has its own connection. */
  deps: Deps
  passwords: PasswordHasher
  nobody: Person
  /** Adds a person, as an admin does. */
  invite(email: string, password?: string): Promise<{ id: string }>
  /** The mails that were recorded for this address, oldest first. They are not sent. */
  mailTo(email: string): Promise<JobData<'send-mail'>[]>
  /** The logged lines, oldest first. */
  logs: Record<string, unknown>[]
  /** Moves the clock of the service forward, in milliseconds. */
  pass(milliseconds: number): void
}

/** The response to every sign-in, with an access token that is valid for this number of seconds. */
export const tokensOf = (exp: number) => ({
  accessToken: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
  refreshToken: expect.any(String),
  exp,
  tokenType: 'Bearer',
})

interface OpenAppOptions {
  /** Closes the app and drops its database when it is disposed. */
  undo: AsyncDisposableStack
  clock: () => number
  level?: 'info' | 'trace'
  onLogLine(line: string): void
}

/** An app without routes yet, with its own database. It has no Redis, because a sign-in does not use it. */
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

/** A low cost, so that most tests hash passwords fast. */
const cheap: PasswordHasherOptions = { cost: { N: 2 ** 10, r: 8, p: 1 } }

/**
 * Starts this service alone. The test environment of `@parley/test` starts the whole server in one sign-in mode for a
 * file. Here each group of tests has a mode of its own, there is no Redis and no worker that sends the mails, and the
 * hash of a password costs little.
 */
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
      if (!user) throw new Error(`${email} exists already`)
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
