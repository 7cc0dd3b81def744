import type { Database } from '@parley/database'
import type { Logger } from '@parley/telemetry'
import { sql } from 'kysely'
import { type Repeated, repeat } from '../repeat.ts'

export interface StatisticsOptions {
  db: Database
  logger: Logger
}

/** Asking costs a look at the catalogue. */
const everyMs = 10_000

/**
 * Has every table analysed that has no statistics: those of a new installation as they grow, and all after a crash of PostgreSQL.
 * Answers which. Workers take turns at it: one that finds another at work leaves it to that one.
 */
export async function analyseTables(db: Database): Promise<string[]> {
  const analysed = new Set<string>()
  for (;;) {
    const { rows } = await sql<{ name: string | null }>`
      select case when pg_try_advisory_xact_lock(${lockNumber}) then analyse_next() end as name`.execute(db)
    const name = rows[0]!.name
    // The same one again cannot be analysed: PostgreSQL has said so in its own log.
    if (name === null || analysed.has(name)) return [...analysed]
    analysed.add(name)
  }
}

/** Any number that nothing else locks. */
const lockNumber = 7_205_759_403_792

/** Does it again and again, until stopped. */
export const startStatistics = ({ db, logger }: StatisticsOptions): Repeated =>
  repeat(
    async () => {
      const tables = await analyseTables(db)
      if (tables.length > 0) logger.info({ tables }, 'tables without statistics were analysed')
    },
    { pauseMs: everyMs, logger, failure: 'tables could not be analysed, will try again' },
  )
