import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { connectDatabase, migrate } from '@parley/database'
import { startPostgres, startRedis } from '@parley/embedded'
import { buildPage } from '@parley/web/build'
import { sql } from 'kysely'
import type { TestProject } from 'vitest/node'
import {
  chooseInfrastructure,
  type InfrastructureKind,
  startPostgresContainer,
  startRedisContainer,
  type TestServer,
} from './containers.ts'
import { databaseUrl, letRolesIn, templateName } from './infrastructure.ts'
import { announcePreparedPostgres, copyServer } from './prepared-postgres.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Superuser URL of the PostgreSQL all test files share; each clones the template database. */
    postgresUrl: string
    /** The kind of the servers of the tests. */
    infrastructure: InfrastructureKind
    /** When the run began, in milliseconds since 1970. */
    begunAt: number
  }
}

/**
 * Runs once: starts a PostgreSQL with a migrated template database. Each test file starts its own Redis (it starts
 * fast, and its pub/sub is not separated by databases); here Redis is only fetched.
 */
export default async function setup(project: TestProject) {
  project.provide('begunAt', Date.now())
  // Otherwise the installations of the tests would build it several times.
  await buildPage()
  const removeTemporaryFiles = await keepTemporaryFilesInMemory()
  try {
    const { kind, postgres, preparePostgres, discard } = await startInfrastructure(await chooseInfrastructure())
    await createTemplate(postgres.url)
    await preparePostgres?.()
    project.provide('postgresUrl', postgres.url)
    project.provide('infrastructure', kind)
    return () => discard().finally(removeTemporaryFiles)
  } catch (error) {
    await removeTemporaryFiles()
    throw error
  }
}

interface Infrastructure {
  kind: InfrastructureKind
  postgres: TestServer
  /** Keeps a copy of the server in its current state. Other servers of the tests start from it. */
  preparePostgres?(): Promise<void>
  discard(): Promise<void>
}

async function startInfrastructure(kind: InfrastructureKind): Promise<Infrastructure> {
  if (kind === 'containers') {
    try {
      const [postgres, redis] = await Promise.all([startPostgresContainer(), startRedisContainer()])
      await redis.stop()
      return { kind, postgres, discard: postgres.stop }
    } catch (error) {
      if (process.env.TEST_INFRASTRUCTURE === 'containers') throw error
      // The engine does not have the images, and cannot fetch them.
      process.stderr.write(`the tests continue without containers: ${(error as Error).message}\n`)
    }
  }
  const directory = await mkdtemp(path.join(tmpdir(), 'parley-test-'))
  const data = path.join(directory, 'postgres')
  const postgres = await startPostgres({ directory: data, durable: false })
  const redis = await startRedis({ directory: path.join(directory, 'redis'), durable: false })
  await redis.stop()
  const preparePostgres = async () => {
    const copy = path.join(directory, 'copy')
    // The servers that the launchers start use this copy.
    await withDatabase(postgres.url, migrate)
    await postgres.stop()
    await copyServer(data, copy)
    await postgres.restart()
    announcePreparedPostgres(copy)
  }
  const discard = async () => {
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
  }
  return { kind: 'embedded', postgres, preparePostgres, discard }
}

async function createTemplate(postgresUrl: string) {
  await withDatabase(postgresUrl, (db) => sql`create database ${sql.id(templateName)}`.execute(db))
  await withDatabase(databaseUrl(postgresUrl, templateName), async (db) => {
    await migrate(db)
    await letRolesIn(db)
  })
}

async function withDatabase(url: string, work: (db: ReturnType<typeof connectDatabase>['db']) => Promise<unknown>) {
  const { db, close } = connectDatabase({ url, poolSize: 1, applicationName: 'parley-test', onIdleError: () => {} })
  await work(db).finally(close)
}

/** The file system that Linux keeps in memory for every process. */
const inMemory = '/dev/shm'
const neededBytes = 6 * 2 ** 30

/**
 * Moves the temporary files of this process and its children into memory, if there is enough of it. Many servers run at
 * once in the tests, and on a slow disk all of them would wait for the writes of one. An existing `TMPDIR` is not
 * changed. @returns a function that removes the directory.
 */
async function keepTemporaryFilesInMemory(): Promise<() => Promise<void>> {
  if (process.env.TMPDIR !== undefined || (await freeBytes()) < neededBytes) return async () => {}
  const directory = await mkdtemp(path.join(inMemory, 'parley-tests-'))
  // The same mode as /tmp: when root starts it, PostgreSQL runs as another user.
  await chmod(directory, 0o1777)
  process.env.TMPDIR = directory
  return async () => {
    delete process.env.TMPDIR
    await rm(directory, { recursive: true, force: true })
  }
}

/** The free bytes in memory; 0 when there is no such file system. */
async function freeBytes(): Promise<number> {
  const found = await statfs(inMemory).catch(() => undefined)
  return found ? Math.min(found.bavail * found.bsize, process.availableMemory()) : 0
}
