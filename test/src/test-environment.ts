import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ensureFirstStart, findOrCreateUser, issueTokens, startSession } from '@parley/accounts'
import { type Config, type DeepPartial, loadConfig } from '@parley/config'
import type { WireEvent } from '@parley/contract'
import type { DatabaseRole } from '@parley/database'
import { type Deps, openDeps } from '@parley/service'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { composeSolo } from '../../deploy/local/compose.ts'
import { type Cast, signInCast } from './cast.ts'
import { type Description, noteUndescribed } from './described-statuses.ts'
import type { EventStream, Match } from './event-stream.ts'
import { createDatabase, createRedis, type TestDatabase, type TestRedis } from './infrastructure.ts'
import { Person } from './person.ts'

export interface TestEnvironment extends Cast {
  baseUrl: string
  /** The owner's connection, for what a test prepares and looks at. */
  deps: Deps
  /** What a service of this environment is made of: it signs in by its own role. */
  depsOf(role: DatabaseRole): Deps
  redis: TestRedis
  events: { to(person: Person): ExpectedEvents }
  /** Lets time pass for the services, in milliseconds; PostgreSQL's own clock stays. */
  pass(milliseconds: number): void
  /** Stops the clock of the services, so that only `pass` moves it, until the test has finished. */
  stopClock(): void
}

export interface ExpectedEvents {
  /** Waits for such an event at this person. */
  toHave<T extends WireEvent['type']>(type: T, match?: Match<T>): Promise<void>
  /** Proves that no such event came to this person: waits for a later one that must. */
  neverHave<T extends WireEvent['type']>(type: T, match?: Match<T>): Promise<void>
}

export interface TestEnvironmentOptions {
  /** Starts what stands between the services and the database; answers its `host:port`. */
  pooler?: (database: TestDatabase) => Promise<{ address: string; stop(): Promise<void> }>
}

/** The whole server in this process, with a cast of people, for the tests of a file. Everything in it is real. */
export function testEnvironment(
  defaults: DeepPartial<Config> = {},
  options: TestEnvironmentOptions = {},
): TestEnvironment {
  const environment = {} as TestEnvironment
  const streams = new Map<Person, Promise<EventStream>>()
  const undo = new AsyncDisposableStack()
  let passed = 0
  let stoppedAt: number | undefined
  const clock = () => (stoppedAt ?? Date.now()) + passed

  beforeAll(async () => {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'parley-test-'))
    undo.defer(() => rm(dataDir, { recursive: true, force: true }))
    const [database, redis] = await Promise.all([createDatabase(1), createRedis()])
    undo.defer(() => database.drop())
    undo.defer(() => redis.discard())
    const pooler = await options.pooler?.(database)
    undo.defer(() => pooler?.stop())
    const config = await loadConfig({
      argv: [],
      env: {},
      cwd: dataDir,
      defaults: {
        environment: 'test',
        dataDir,
        log: { level: 'fatal' },
        chat: { initialUser: { userName: 'ada', email: 'ada@example.com' } },
        ...defaults,
        auth: {
          isInviteRequired: false,
          jwtSecret: 'a-secret-of-tests-with-more-than-32-characters',
          ...defaults.auth,
        },
        rateLimit: { enabled: false, ...defaults.rateLimit },
        events: { drainSeconds: 0, ...defaults.events },
        server: { port: 0, ...defaults.server },
        database: { poolSize: 10, ...defaults.database, url: database.url },
        redis: { url: redis.url },
      },
    })
    await ensureFirstStart(database.db, config)
    const { deps, signedInAt, close } = openDeps('test', config, clock)
    undo.defer(close)
    const throughPooler = (url: string) => (pooler ? Object.assign(new URL(url), { host: pooler.address }).href : url)
    const opened = new Map<DatabaseRole, Deps>()
    environment.depsOf = (role) => {
      const depsOfRole = opened.get(role) ?? signedInAt(throughPooler(database.urlOf(role)))
      opened.set(role, depsOfRole)
      return depsOfRole
    }
    const solo = await composeSolo(deps, environment.depsOf)
    undo.defer(() => solo.stop())
    const baseUrl = await solo.start()
    const description: Description = (await solo.fastify.inject('/openapi.json')).json()
    const undescribed = noteUndescribed(solo.fastify.server, description)
    undo.defer(() => expect([...undescribed], 'answers that OpenAPI does not declare').toEqual([]))
    const cast = await signInCast(baseUrl, (email) => comeIn(baseUrl, deps, email))
    Object.assign(environment, { baseUrl, deps, redis, ...cast })
  })
  afterAll(async () => {
    for (const stream of streams.values()) await (await stream).close()
    await undo.disposeAsync()
  })

  const streamOf = (person: Person) => {
    const open = streams.get(person) ?? person.opensStream()
    streams.set(person, open)
    return open
  }
  environment.events = {
    to: (person) => ({
      async toHave(type, match) {
        await (await streamOf(person)).waitFor(type, match)
      },
      async neverHave(type, match) {
        const stream = await streamOf(person)
        const marker = await environment.people.ann.says('marker', environment.channel.general)
        await stream.waitFor('NEW_MESSAGE', { id: marker.id })
        await expect(stream.waitFor(type, match, 0)).rejects.toThrow(/^no /)
      },
    }),
  }
  // Streams are opened before the first test, so that nothing is missed.
  beforeAll(async () => {
    const { ada, ann, bob, cat } = environment.people
    await Promise.all([ada, ann, bob, cat].map(streamOf))
  })
  environment.pass = (milliseconds) => {
    passed += milliseconds
  }
  environment.stopClock = () => {
    stoppedAt = Date.now()
    onTestFinished(() => {
      stoppedAt = undefined
    })
  }
  return environment
}

/** Where there is no development mode, the cast comes in by the back door. */
async function comeIn(baseUrl: string, { config, db, tokens, clock }: Deps, email: string): Promise<Person> {
  if (config.auth.authMode === 'dev') return Person.signIn(baseUrl, email)
  const origin = { ip: null, userAgent: null, now: clock() }
  const { user, session } = await db.transaction().execute(async (trx) => {
    const user = await findOrCreateUser(trx, { email, ...origin })
    const { refreshTokenExpirySeconds: seconds, sessionMaxDays: maxDays, mfa } = config.auth
    const lasting = { seconds, maxActive: 3, maxDays, mfaRequired: mfa === 'required' }
    return { user, session: await startSession(trx, { userId: user.id, method: 'dev', ...origin, ...lasting }) }
  })
  const { accessToken, refreshToken } = await issueTokens(tokens, session, 86_400)
  return new Person(baseUrl, user, accessToken, refreshToken)
}
