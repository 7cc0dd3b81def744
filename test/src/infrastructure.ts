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
} from '@parley/database'
import { type EmbeddedServer, startPostgres, startRedis } from '@parley/embedded'
import { sql } from 'kysely'
import { inject } from 'vitest'
import { startPostgresContainer, startRedisContainer, type TestServer } from './containers.ts'
import { copyPreparedPostgres } from './prepared-postgres.ts'

export const templateName = 'parley_template'

export const databaseUrl = (url: string, name: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href

const rolePassword = 'of a role of the tests'

/** The address at which a service signs in, with the rights it has in production. */
export const roleUrl = (url: string, role: DatabaseRole) =>
  Object.assign(new URL(url), { username: roleName(role), password: rolePassword }).href

/** Lets every service in by its role: roles belong to the server, so this is done once for all of its databases. */
export async function letRolesIn(db: Database) {
  for (const role of databaseRoles) await setRolePassword(db, role, rolePassword)
}

/** The connection is the owner's: for migrations and for what a test prepares and looks at. Services sign in by their roles. */
export interface TestDatabase extends Connection {
  url: string
  /** Where a service signs in. */
  urlOf(role: DatabaseRole): string
  /** A connection with the rights of a service; the same one each time. */
  as(role: DatabaseRole): Connection
  drop(): Promise<void>
}

export interface TestDatabaseApart extends TestDatabase {
  /** Kills the whole server and starts it again on the same data. */
  crash(): Promise<void>
}

let databases = 0

/** A database of its own for a test file: a clone of the migrated template, made in some 30 ms. */
export const createDatabase = (poolSize = 10): Promise<TestDatabase> => create(templateName, poolSize)

/** A database without a schema, for those who migrate it themselves. */
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
 * A database on a server of its own, for who writes for long: the oldest transaction of a server holds back the relays of all its
 * databases, and with them whoever waits until what they said is projected.
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

/** Migrates a database of a server that a test has started itself, and lets the services' roles in. */
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
  // Making a new one and migrating it takes seconds.
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

/** A Redis of its own for a test file: it may be killed, paused or emptied without disturbing others. */
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
