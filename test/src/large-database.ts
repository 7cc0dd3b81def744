import type { Database } from '@parley/database'
import type { Pool } from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { createDatabaseApart, type TestDatabase } from './infrastructure.ts'

export interface LargeDatabase {
  readonly db: Database
  readonly pool: Pool
  /**
   * By how much each figure grew while `work` ran.
   * @param figures the columns of one row, as SQL: counters of PostgreSQL's statistics
   */
  growth<Figure extends string>(
    figures: Record<Figure, string>,
    work: () => Promise<unknown>,
  ): Promise<Record<Figure, number>>
}

/** A database of a test's own that `fill` loads with many rows before the first test; planned for as they are. */
export function largeDatabase(fill: (pool: Pool) => Promise<unknown>): LargeDatabase {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createDatabaseApart(1)
    await database.pool.query('set statement_timeout = 0')
    await fill(database.pool)
    await database.pool.query('vacuum analyze')
  }, 300_000)
  afterAll(() => database?.drop())

  return {
    get db() {
      return database.db
    },
    get pool() {
      return database.pool
    },
    async growth(figures, work) {
      const names = Object.keys(figures) as (keyof typeof figures)[]
      const before = await read()
      await work()
      const after = await read()
      return Object.fromEntries(names.map((name) => [name, after[name] - before[name]])) as typeof before

      async function read() {
        await database.pool.query('select pg_stat_force_next_flush()')
        const columns = names.map((name) => `(${figures[name]})::float8 as "${name}"`)
        const { rows } = await database.pool.query(`select ${columns.join(', ')}`)
        return rows[0] as Record<keyof typeof figures, number>
      }
    },
  }
}
