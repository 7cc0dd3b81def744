import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  type Connection,
  connectDatabase,
  type Database,
  type DatabaseRole,
  databaseRoles,
  migrate,
  roleName,
  setRolePassword,
  type Transaction,
} from '@parley/database'
import { type EmbeddedServer, startPostgres, startRedis } from '@parley/embedded'
import { sql } from 'kysely'
import { inject } from 'vitest'
import { startPostgresContainer, startRedisContainer, type TestServer } from './containers.ts'
import { copyPreparedPostgres } from './prepared-postgres.ts'

export const templateName = 'parley_template'

export const databaseUrl = (url: string, name: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href

const rolePassword = 'of a role of the tests'

/** The address with which a service signs in, with the same rights as in production. */
const roleUrl = (url: string, role: DatabaseRole) =>
  Object.assign(new URL(url), { username: roleName(role), password: rolePassword }).href

/** Sets the passwords of the roles of all services. Roles belong to the server, so this is done once for all of its databases. */
export async function letRolesIn(db: Database) {
  for (const role of databaseRoles) await setRolePassword(db, role, rolePassword)
}

/**
 * A database with a connection of its owner, for migrations and for the preparation and inspection of a test. Services
 * sign in with their roles.
 */
export interface TestDatabase extends Connection {
  url: string
  /** The address with which a service signs in. */
  urlOf(role: DatabaseRole): string
  /** A connection with the rights of a service. Each call returns the same one. */
  as(role: DatabaseRole): Connection
  drop(): Promise<void>
}

export interface TestDatabaseApart extends TestDatabase {
  /** Kills the whole server and starts it again on the same data. */
  crash(): Promise<void>
}

let databases = 0

/** A separate database for a test file: a clone of the migrated template, which takes about 30 ms. */
export const createDatabase = (poolSize = 10): Promise<TestDatabase> => create(templateName, poolSize)

/** A database without a schema, for tests that migrate it themselves. */
export const createEmptyDatabase = (): Promise<TestDatabase> => create('template0', 1)

async function create(template: string, poolSize: number): Promise<TestDatabase> {
  const postgresUrl = inject('postgresUrl')
  const name = `test_${process.pid}_${++databases}`
  const admin = open(postgresUrl, 1)
  await sql`create database ${sql.id(name)} template ${sql.id(template)}`.execute(admin.db)
  const url = databaseUrl(postgresUrl, name)
  const database = openWithRoles(url, poolSize)
  return {
    ...database,
    async drop() {
      await database.close()
      await sql`drop database ${sql.id(name)} with (force)`.execute(admin.db)
      await admin.close()
    },
  }
}

/**
 * A database on a separate server, for tests with long write transactions. The oldest transaction of a server delays
 * the relays of all its databases, and so the tests that wait for their events or for the search projection.
 */
export async function createDatabaseApart(poolSize: number): Promise<TestDatabaseApart> {
  const { url, stop, crash } = await startServerApart()
  const database = await prepareDatabase(url, poolSize)
  return {
    ...database,
    crash,
    async drop() {
      await database.close()
      await stop()
    },
  }
}

/** Migrates a database of a server that a test has started itself, and sets the passwords of the roles. */
export async function prepareDatabase(url: string, poolSize: number): Promise<Omit<TestDatabase, 'drop'>> {
  const database = openWithRoles(url, poolSize)
  await migrate(database.db)
  await letRolesIn(database.db)
  return database
}

function openWithRoles(url: string, poolSize: number): Omit<TestDatabase, 'drop'> {
  const owner = open(url, poolSize)
  const connections = new Map<DatabaseRole, Connection>()
  const urlOf = (role: DatabaseRole) => roleUrl(url, role)
  return {
    ...owner,
    url,
    urlOf,
    as(role) {
      const connection = connections.get(role) ?? open(urlOf(role), poolSize)
      connections.set(role, connection)
      return connection
    },
    async close() {
      await Promise.all([owner, ...connections.values()].map((connection) => connection.close()))
    },
  }
}

async function startServerApart(): Promise<Pick<TestServer, 'url' | 'stop'> & { crash(): Promise<void> }> {
  if (inject('infrastructure') === 'containers') {
    const server = await startPostgresContainer()
    return { ...server, crash: () => crash(server) }
  }
  const directory = await mkdtemp(path.join(tmpdir(), 'parley-apart-'))
  const data = path.join(directory, 'postgres')
  // Creating and migrating a new one would take seconds.
  if (!(await copyPreparedPostgres(data))) throw new Error('the global set-up has prepared no PostgreSQL')
  const server = await startPostgres({ directory: data, durable: false })
  return {
    url: databaseUrl(server.url, templateName),
    crash: () => crash(server),
    async stop() {
      await server.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

function crash(server: Pick<TestServer, 'kill' | 'restart'>): Promise<void> {
  server.kill('SIGKILL')
  return server.restart()
}

const open = (url: string, poolSize: number) =>
  connectDatabase({ url, poolSize, applicationName: 'parley-test', onIdleError: () => {} })

export type TestRedis = TestServer & { discard(): Promise<void> }

/** A separate Redis for a test file, which may kill, pause or empty it without affecting other tests. */
export async function createRedis(): Promise<TestRedis> {
  if (inject('infrastructure') === 'containers') {
    const redis = await startRedisContainer()
    return { ...redis, discard: redis.stop }
  }
  const directory = await mkdtemp(path.join(tmpdir(), 'parley-redis-'))
  const redis = await startRedis({ directory, durable: false })
  const discard = async () => {
    await redis.stop()
    await rm(directory, { recursive: true, force: true })
  }
  return Object.assign(Object.create(redis) as EmbeddedServer, { discard })
}

/** Resolves when a statement waits for a lock of this transaction. Other waits are ignored. */
export async function somebodyWaitsFor(trx: Transaction): Promise<void> {
  const waiting = sql`select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`
  while ((await waiting.execute(trx)).rows.length === 0);
}
