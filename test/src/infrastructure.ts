import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Connection, connectDatabase, migrate } from '@parley/database'
import { type EmbeddedPart, startPostgres, startRedis } from '@parley/embedded'
import { sql } from 'kysely'
import { inject } from 'vitest'
import { startPostgresContainer, startRedisContainer, type TestServer } from './containers.ts'

export const templateName = 'parley_template'

export const databaseUrl = (url: string, name: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href

export interface TestDatabase extends Connection {
  url: string
  drop(): Promise<void>
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
  const connection = open(url, poolSize)
  return {
    ...connection,
    url,
    async drop() {
      await connection.close()
      await sql`drop database ${sql.id(name)} with (force)`.execute(admin.db)
      await admin.close()
    },
  }
}

/**
 * A database on a server of its own, for who writes for long: the oldest transaction of a server holds back the relays of all its
 * databases, and with them whoever waits until what they said is projected.
 */
export async function createDatabaseApart(poolSize: number): Promise<TestDatabase> {
  const { url, stop } = await startServerApart()
  const connection = open(url, poolSize)
  await migrate(connection.db)
  return {
    ...connection,
    url,
    async drop() {
      await connection.close()
      await stop()
    },
  }
}

async function startServerApart(): Promise<Pick<TestServer, 'url' | 'stop'>> {
  if (inject('infrastructure') === 'containers') return startPostgresContainer()
  const directory = await mkdtemp(path.join(tmpdir(), 'parley-apart-'))
  const { url, stop } = await startPostgres({ directory: path.join(directory, 'postgres'), durable: false })
  return {
    url,
    async stop() {
      await stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
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
  return Object.assign(Object.create(redis) as EmbeddedPart, { discard })
}
