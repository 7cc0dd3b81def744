import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Config, type DeepPartial, loadConfig } from '@parley/config'
import { type Deps, openDeps } from '@parley/service'
import { createDatabase, createRedis, type TestDatabase } from '@parley/test'
import { afterAll, beforeAll, vi } from 'vitest'

/**
 * The dependencies of a worker, with a database, a Redis and a data directory of their own. The worker signs in by its
 * role. `database` is the owner's connection, for the preparation and inspection of a test.
 */
export function workerEnvironment() {
  const undo = new AsyncDisposableStack()
  const held = {} as {
    dataDir: string
    database: TestDatabase
    deps: Deps
    depsWith(more: DeepPartial<Config>): Promise<Deps>
  }

  beforeAll(async () => {
    held.dataDir = await mkdtemp(join(tmpdir(), 'parley-worker-'))
    undo.defer(() => rm(held.dataDir, { recursive: true, force: true }))
    held.database = await createDatabase()
    undo.defer(() => held.database.drop())
    const redis = await createRedis()
    undo.defer(() => redis.discard())
    held.depsWith = async (more) => {
      const config = await loadConfig({
        argv: [],
        env: {},
        cwd: held.dataDir,
        defaults: {
          environment: 'test',
          dataDir: held.dataDir,
          log: { level: 'silent' },
          auth: { jwtSecret: 'a-secret-of-tests-with-more-than-32-characters' },
          database: { url: held.database.urlOf('worker') },
          redis: { url: redis.url },
          ...more,
        },
      })
      const { deps, close } = openDeps('worker', config)
      undo.defer(close)
      return deps
    }
    held.deps = await held.depsWith({})
  })
  afterAll(() => undo.disposeAsync())

  return held
}

export const eventually = (assertion: () => void | Promise<void>) =>
  vi.waitFor(assertion, { timeout: 20_000, interval: 20 })
