import { mkdtemp, rm } from 'node:fs/promises'
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
import { keepTemporaryFilesInMemory } from './temporary-directory.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Superuser URL of the PostgreSQL all test files share; each clones the template database. */
    postgresUrl: string
    /** Where the servers of the tests come from. */
    infrastructure: InfrastructureKind
  }
}

/**
 * Once per run: a PostgreSQL with a migrated template database. Each test file starts a Redis of its own (it is fast to start,
 * and its pub/sub knows no databases); here it is only fetched.
 */
export default async function setup(project: TestProject) {
  // Installations of the tests would build it several times over.
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
  /** Keeps a copy of the server as it is now, which other servers of the tests begin with. */
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
      // An engine without the images, and without a way to fetch them.
      process.stderr.write(`tests go on without containers: ${(error as Error).message}\n`)
    }
  }
  const directory = await mkdtemp(path.join(tmpdir(), 'parley-test-'))
  const data = path.join(directory, 'postgres')
  const postgres = await startPostgres({ directory: data, durable: false })
  const redis = await startRedis({ directory: path.join(directory, 'redis'), durable: false })
  await redis.stop()
  const preparePostgres = async () => {
    const copy = path.join(directory, 'copy')
    // For the servers that the launchers start.
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
