import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { connectDatabase, migrate } from '@parley/database'
import { startPostgres, startRedis } from '@parley/embedded'
import { sql } from 'kysely'
import type { TestProject } from 'vitest/node'
import { databaseUrl, templateName } from './infrastructure.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Superuser URL of the PostgreSQL all test files share; each clones the template database. */
    postgresUrl: string
  }
}

/**
 * Once per run: a PostgreSQL with a migrated template database; Redis is only fetched here, each test file starts its
 * own (a Redis is fast to start, and its pub/sub knows no databases).
 */
export default async function setup(project: TestProject) {
  const directory = await mkdtemp(path.join(tmpdir(), 'parley-test-'))
  const postgres = await startPostgres({ directory: path.join(directory, 'postgres'), durable: false })
  const redis = await startRedis({ directory: path.join(directory, 'redis'), durable: false })
  await redis.stop()
  await createTemplate(postgres.url)
  project.provide('postgresUrl', postgres.url)
  return async () => {
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
  }
}

async function createTemplate(postgresUrl: string) {
  await withDatabase(postgresUrl, (db) => sql`create database ${sql.id(templateName)}`.execute(db))
  await withDatabase(databaseUrl(postgresUrl, templateName), migrate)
}

async function withDatabase(url: string, work: (db: ReturnType<typeof connectDatabase>['db']) => Promise<unknown>) {
  const { db, close } = connectDatabase({ url, poolSize: 1, applicationName: 'parley-test', onIdleError: () => {} })
  await work(db).finally(close)
}
