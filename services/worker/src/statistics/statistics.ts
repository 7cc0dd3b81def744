import type { Database } from '@parley/database'
import type { Logger } from '@parley/telemetry'
import { sql } from 'kysely'
import { type Repeated, repeat } from '../repeat.ts'

interface StatisticsOptions {
  db: Database
  logger: Logger
}

/** The interval. Each check only reads the catalogue. */
const everyMs = 10_000

/**
 * Analyses every table without statistics: those of a new installation as they grow, and all tables after a crash of
 * PostgreSQL. Returns their names. While one worker does this, others do nothing.
 */
export async function analyseTables(db: Database): Promise<string[]> {
  const analysed = new Set<string>()
  for (;;) {
    const { rows } = await sql<{ name: string | null }>`
      select case when pg_try_advisory_xact_lock(${lockNumber}) then analyse_next() end as name`.execute(db)
    const name = rows[0]!.name
    // When the same table is returned again, it cannot be analysed. PostgreSQL has logged the reason.
    if (name === null || analysed.has(name)) return [...analysed]
    analysed.add(name)
  }
}

/** A number that is not used for any other lock. */
const lockNumber = 7_205_759_403_792

/** Analyses such tables periodically, until it is stopped. */
export const startStatistics = ({ db, logger }: StatisticsOptions): Repeated =>
  repeat(
    async () => {
      const tables = await analyseTables(db)
      if (tables.length > 0) logger.info({ tables }, 'tables without statistics were analysed')
    },
    { pauseMs: everyMs, logger, failure: 'tables could not be analysed, will try again' },
  )
