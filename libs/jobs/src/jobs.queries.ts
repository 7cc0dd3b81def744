import type { JobData, JobName } from '@parley/contract'
import type { Database } from '@parley/database'
import { sql } from 'kysely'

const claimLimit = 100

/**
 * Takes jobs that were not handed to the queue yet, or so long ago that Redis may have lost them, and marks them as handed over
 * now. Returns their ids in the order in which they were recorded. Concurrent workers get different jobs. Served by jobs_waiting.
 */
export async function claimJobs(db: Database, name: JobName, againAfterMs: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    update jobs set enqueued_at = now_ms()
    where id in (
      select id from jobs
      where name = ${name} and failed_at is null and (enqueued_at is null or enqueued_at < now_ms() - ${againAfterMs})
      order by enqueued_at nulls first, id limit ${claimLimit} for update skip locked
    )
    returning id`.execute(db)
  // An update returns rows in any order; ids rise with time.
  return rows.map(({ id }) => id).sort()
}

/** Gives back jobs that could not be handed over. */
export const unclaimJobs = (db: Database, ids: string[]) =>
  db.updateTable('jobs').set({ enqueuedAt: null }).where('id', 'in', ids).execute()

/** The job as it was recorded, or undefined when it is done or given up. */
export async function findJob<N extends JobName>(db: Database, id: string) {
  const row = await db
    .selectFrom('jobs')
    .select(['data', 'trace'])
    .where('id', '=', id)
    .where('failedAt', 'is', null)
    .executeTakeFirst()
  return row && { data: row.data as JobData<N>, trace: row.trace }
}

export const deleteJob = (db: Database, id: string) => db.deleteFrom('jobs').where('id', '=', id).execute()

/** Keeps a job that will not be tried again, with the reason, for an operator to look at. */
export const markJobFailed = (db: Database, id: string, failedAt: number, failure: string) =>
  db.updateTable('jobs').set({ failedAt, failure }).where('id', '=', id).execute()

/** How many jobs are not handed over yet, and how many have failed for good. */
export async function countJobs(db: Database, name: JobName): Promise<{ recorded: number; dead: number }> {
  const { recorded, dead } = await db
    .selectFrom('jobs')
    .select(({ fn }) => [
      fn.countAll<number>().filterWhere('failedAt', 'is', null).filterWhere('enqueuedAt', 'is', null).as('recorded'),
      fn.countAll<number>().filterWhere('failedAt', 'is not', null).as('dead'),
    ])
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return { recorded, dead }
}
