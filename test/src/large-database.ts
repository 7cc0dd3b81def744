import type { Connection, Database, DatabaseRole } from '@parley/database'
import type { Pool } from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { createDatabaseApart, type TestDatabaseApart } from './infrastructure.ts'

export interface LargeDatabase {
  readonly db: Database
  readonly pool: Pool
  /** A connection with the rights of a service. */
  as(role: DatabaseRole): Connection
  /**
   * The growth of each figure while `work` runs.
   * @param figures the columns of one row, as SQL: counters of PostgreSQL's statistics
   */
  growth<Figure extends string>(
    figures: Record<Figure, string>,
    work: () => Promise<unknown>,
  ): Promise<Record<Figure, number>>
  /** The number of rows and index entries of all tables that are read while `work` runs. */
  read(work: () => Promise<unknown>): Promise<number>
  /** Kills the server and starts it again. It has lost its counters since the last `analyze`. */
  crash(): Promise<void>
}

/** The knowledge of PostgreSQL about tables when it plans a statement, from best to worst. */
export const everyStatistics = [
  'good statistics',
  'no statistics, as in a new installation',
  'plans made while the tables were empty',
  'no statistics after a crash',
] as const
export type Statistics = (typeof everyStatistics)[number]

interface LargeDatabaseOptions {
  statistics?: Statistics
  /** Runs the statements of the test on the empty tables, so that PostgreSQL keeps their plans. */
  whileEmpty?: () => Promise<unknown>
}

/** The id of row number `n` of one kind, a digit, for rows that a test has to know before they are stored. */
export const rowId = (kind: number, n: number) => `${kind}0000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`

/** `rowId` in SQL. `n` is an SQL expression. */
export const sqlRowId = (kind: number, n = 'n') =>
  `('${kind}0000000-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`

/** A member as the caller of a query. */
export const callerOf = (userId: string, sessionId = '') => ({
  userId,
  sessionId,
  userName: 'reader',
  email: '',
  role: 'member' as const,
  isAdmin: false,
})

/** A separate database that `fill` loads with many rows before the first test. By default it has good statistics. */
export function largeDatabase(
  fill: (pool: Pool) => Promise<unknown>,
  { statistics = 'good statistics', whileEmpty }: LargeDatabaseOptions = {},
): LargeDatabase {
  let database: TestDatabaseApart

  beforeAll(async () => {
    database = await createDatabaseApart(1)
    const { pool } = database
    if (statistics !== 'good statistics') {
      await pool.query('alter system set autovacuum = off')
      await pool.query('select pg_reload_conf()')
    }
    if (statistics === 'plans made while the tables were empty') {
      await pool.query('analyze')
      // From the sixth time on PostgreSQL may keep the plan of a prepared statement.
      for (let n = 0; n < 8; n++) await whileEmpty?.()
    }
    await pool.query('set statement_timeout = 0')
    await fill(pool)
    if (statistics === 'good statistics') await pool.query('vacuum analyze')
    if (statistics === 'no statistics after a crash') await crash()
  }, 300_000)
  afterAll(() => database?.drop())

  /** Crashes the server after a checkpoint, because these servers do not wait for their disk. */
  async function crash() {
    await database.pool.query('checkpoint')
    await database.crash()
  }

  async function growth<Figure extends string>(figures: Record<Figure, string>, work: () => Promise<unknown>) {
    const names = Object.keys(figures) as Figure[]
    const readFigures = async () => {
      await database.pool.query('select pg_stat_force_next_flush()')
      const columns = names.map((name) => `(${figures[name]})::float8 as "${name}"`)
      const { rows } = await database.pool.query(`select ${columns.join(', ')}`)
      return rows[0] as Record<Figure, number>
    }
    const before = await readFigures()
    await work()
    const after = await readFigures()
    return Object.fromEntries(names.map((name) => [name, after[name] - before[name]])) as Record<Figure, number>
  }

  return {
    get db() {
      return database.db
    },
    get pool() {
      return database.pool
    },
    as: (role) => database.as(role),
    growth,
    async read(work) {
      const rows = 'select sum(seq_tup_read) from pg_stat_user_tables'
      const entries = 'select sum(idx_tup_read) from pg_stat_user_indexes'
      const { rows: scanned, entries: found } = await growth({ rows, entries }, work)
      return scanned + found
    },
    crash,
  }
}
