import type { JobData, JobName } from '@parley/contract'
import type { Database } from '@parley/database'
import { sql } from 'kysely'

const claimLimit = 100

/**
 * Claims jobs that were not added to the queues yet, or so long ago that Redis may have lost them, and marks them as
 * enqueued now. Returns the ids by name, in the order in which the jobs were recorded. Each name has a limit of its
 * own, so that many jobs of one name do not delay others. Concurrent workers get different jobs. Served by
 * jobs_waiting.
 */
export async function claimJobs(
  db: Database,
  names: readonly JobName[],
  againAfterMs: number,
): Promise<Map<JobName, string[]>> {
  // An array is computed once; `in` with a subquery may be planned to compute it for each row.
  const { rows } = await sql<{ name: JobName; id: string }>`
    update jobs set enqueued_at = now_ms()
    where id = any(array(
      select waiting.id from unnest(${names}::text[]) as wanted (name) cross join lateral (
        select id from jobs
        where name = wanted.name and failed_at is null and (enqueued_at is null or enqueued_at < now_ms() - ${againAfterMs})
        order by enqueued_at nulls first, id limit ${claimLimit} for update skip locked
      ) waiting
    ))
    returning name, id`.execute(db)
  // An update returns rows in any order. Ids grow with time.
  const claimed = new Map<JobName, string[]>()
  for (const { name, id } of rows.sort((a, b) => (a.id < b.id ? -1 : 1))) {
    claimed.set(name, [...(claimed.get(name) ?? []), id])
  }
  return claimed
}

/** Releases jobs that could not be added to a queue. */
export const unclaimJobs = (db: Database, ids: string[]) =>
  db.updateTable('jobs').set({ enqueuedAt: null }).where('id', 'in', ids).execute()

/** The job as it was recorded; undefined when it is done or has failed for good. */
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

/** Keeps a job that will not be tried again, with the reason, for an operator. */
export const markJobFailed = (db: Database, id: string, failedAt: number, failure: string) =>
  db.updateTable('jobs').set({ failedAt, failure }).where('id', '=', id).execute()

/** How many jobs are not in a queue yet, and how many have failed for good. */
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
