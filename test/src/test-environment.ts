import { mkdtemp, rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ensureFirstStart, findOrCreateUser, issueTokens, startSession } from '@parley/accounts'
import { type Config, type DeepPartial, loadConfig } from '@parley/config'
import type { WireEvent } from '@parley/contract'
import type { AuditAction, DatabaseRole, Tables } from '@parley/database'
import { type Deps, openDeps } from '@parley/service'
import type { Selectable } from 'kysely'
import { afterAll, beforeAll, expect, onTestFinished, vi } from 'vitest'
import { composeSolo } from '../../deploy/local/compose.ts'
import { type Cast, signInCast } from './cast.ts'
import type { EventStream, Match } from './event-stream.ts'
import { createDatabase, createRedis, type TestDatabase, type TestRedis } from './infrastructure.ts'
import { Person } from './person.ts'

export interface TestEnvironment extends Cast {
  baseUrl: string
  /** The dependencies with the owner's connection, for the preparation and inspection of a test. */
  deps: Deps
  /** The dependencies of a service, which signs in with its own role. */
  depsOf(role: DatabaseRole): Deps
  redis: TestRedis
  events: { to(person: Person): ExpectedEvents }
  /** The entries of the audit log with these values, oldest first. */
  auditLog(wanted: {
    action: AuditAction
    targetId?: string
    actorId?: string
  }): Promise<Selectable<Tables['auditLog']>[]>
  /** Moves the clock of the services forward, in milliseconds. PostgreSQL's own clock does not change. */
  pass(milliseconds: number): void
  /** Stops the clock of the services, so that only `pass` moves it, until the test has finished. */
  stopClock(): void
}

interface ExpectedEvents {
  /** Waits until this person gets a matching event. */
  toHave<T extends WireEvent['type']>(type: T, match?: Match<T>): Promise<void>
  /** Verifies that this person got no matching event: it waits for a later event that must arrive. */
  neverHave<T extends WireEvent['type']>(type: T, match?: Match<T>): Promise<void>
}

interface TestEnvironmentOptions {
  /** Starts a pooler between the services and the database, and returns its `host:port`. */
  pooler?: (database: TestDatabase) => Promise<{ address: string; stop(): Promise<void> }>
}

/** The whole server in this process, with the people of `Cast`, for the tests of a file. Nothing in it is mocked. */
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
    // The start waits for the streams for two seconds at most, which is not enough on a busy machine.
    const ready = async () => expect(await fetch(`${baseUrl}/health/ready`)).toMatchObject({ status: 200 })
    await vi.waitFor(ready, { timeout: 30_000, interval: 50 })
    const description: Description = (await solo.fastify.inject('/openapi.json')).json()
    const undescribed = noteUndescribed(solo.fastify.server, description)
    undo.defer(() => expect([...undescribed], 'responses that OpenAPI does not declare').toEqual([]))
    const cast = await signInCast(baseUrl, (email) => signInAs(baseUrl, deps, email))
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
  environment.auditLog = (wanted) =>
    environment.deps.db
      .selectFrom('auditLog')
      .selectAll()
      .where((where) => where.and(wanted))
      .orderBy('id')
      .execute()
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

/** Signs in as a person of the cast. Without dev mode, the session is created directly in the database. */
async function signInAs(baseUrl: string, { config, db, tokens, clock }: Deps, email: string): Promise<Person> {
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

/** The part of an OpenAPI document that is compared with responses. */
interface Description {
  paths: Record<string, Record<string, { responses: Record<string, object> }>>
}

/**
 * Watches all responses of a server, and collects those whose route or status its OpenAPI description does not have. The
 * set grows while the server runs.
 */
function noteUndescribed(server: Server, { paths }: Description): Set<string> {
  const undescribed = new Set<string>()
  const routes = Object.entries(paths)
    .map(([path, operations]) => ({ path, operations, form: formOf(path), parameters: path.split('{').length - 1 }))
    // A fixed part is more specific than a named one.
    .sort((a, b) => a.parameters - b.parameters)

  server.on('request', (request, response) => {
    const method = request.method!.toLowerCase()
    const [address = ''] = request.url!.split('?')
    response.once('finish', () => {
      const found = routes.find(({ form, operations }) => form.test(address) && operations[method])
      const isDescribed = found
        ? found.operations[method]!.responses[response.statusCode] !== undefined
        : response.statusCode >= 400 || method === 'options' || describedElsewhere.test(address)
      if (!isDescribed) undescribed.add(`${request.method} ${found?.path ?? address} answers ${response.statusCode}`)
    })
  })
  return undescribed
}

/** The pages of the documentation, and SCIM, which describes itself at /scim/v2/Schemas. */
const describedElsewhere = /^\/(docs|scim\/v2)\//

const formOf = (path: string) =>
  new RegExp(`^${path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
