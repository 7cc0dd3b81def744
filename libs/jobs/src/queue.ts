import type { JobData, JobName } from '@parley/contract'
import type { Database } from '@parley/database'
import {
  type BoundCounter,
  inSpan,
  type Logger,
  label,
  type Metrics,
  metric,
  SpanKind,
  spanAttribute,
  spanName,
} from '@parley/telemetry'
import { DelayedError, type Job, Queue, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import { countJobs, deleteJob, findJob, markJobFailed } from './jobs.queries.ts'

export interface QueueOptions<N extends JobName> {
  /**
   * Does the job; may be called again for one that was done already, when a process dies right after doing it: `id` is the
   * same then.
   */
  handler(data: JobData<N>, id: string): Promise<void>
  /**
   * Asked before each attempt: 0 to make it now, else the milliseconds after which to ask again. Waiting is no attempt, and others
   * have their turn meanwhile. The handler is called in the same turn of the loop as the answer 0.
   */
  waitMs?(data: JobData<N>): number
  /** Told of a job that nobody will try again, before it is set aside. */
  onGivenUp?(data: JobData<N>): Promise<void>
  /** How often a job is tried, at least 1. After that it stays in the table `jobs` with `failed_at` and its failure. */
  attempts: number
  /**
   * Pause before the second attempt; doubles with each further one, less up to half of it at random. Or a function that answers the pause
   * before each further attempt, counted from 1.
   */
  backoffMs: number | ((retry: number) => number)
  /** Jobs that this process does at once, 1 unless given. */
  concurrency?: number
}

/** What the queues of a process share. */
export interface QueueParts {
  db: Database
  /** For the commands of all queues; each has a further connection on which it waits for jobs. */
  connection: Redis
  /** Of all names in Redis. */
  prefix: string
  takeOverMs: number
  logger: Logger
  metrics: Metrics
  clock: () => number
}

export interface JobQueue {
  /** Hands jobs over. An id that is in the queue already changes nothing. */
  add(ids: readonly string[]): Promise<void>
  /** Takes no new jobs, and resolves when those under way are done; at once without Redis. */
  stop(): Promise<void>
}

/** Does the jobs of one name, as BullMQ hands them out. */
export function openQueue<N extends JobName>(name: N, options: QueueOptions<N>, parts: QueueParts): JobQueue {
  const { attempts, backoffMs, concurrency = 1 } = options
  const { db, connection, prefix, takeOverMs, logger, metrics } = parts
  const queue = new Queue(name, { connection, prefix })
  const done = metrics.counter(metric.jobs)
  // Made here rather than at the first job, so that a rate sees that job.
  const counts = {
    completed: done.with({ [label.queue]: name, [label.outcome]: 'completed' }),
    failed: done.with({ [label.queue]: name, [label.outcome]: 'failed' }),
  }
  const worker = new Worker(name, (job, token) => perform({ name, options, parts, counts }, job, token), {
    connection,
    prefix,
    concurrency,
    lockDuration: takeOverMs,
    stalledInterval: takeOverMs,
    // How often workers may die over a job: it is the row that says when to give up.
    maxStalledCount: 1_000,
    settings: typeof backoffMs === 'function' ? { backoffStrategy: backoffMs } : {},
  })
  // That Redis is away is told once, by the connection for hints.
  queue.on('error', (err) => logger.debug({ err, queue: name }, 'the queue has no connection'))
  worker.on('error', (err) => logger.debug({ err, queue: name }, 'the worker has no connection'))
  const endObservation = metrics.gauge(metric.queueDepth, async () => {
    const [{ recorded, dead }, counted] = await Promise.all([
      countJobs(db, name),
      queue.getJobCounts('wait', 'active', 'delayed'),
    ])
    return Object.entries({ recorded, dead, ...counted }).map(([state, value]) => ({
      value,
      labels: { [label.queue]: name, [label.state]: state },
    }))
  })
  const jobOptions = {
    attempts,
    backoff:
      typeof backoffMs === 'function'
        ? { type: 'own schedule' }
        : { type: 'exponential', delay: backoffMs, jitter: 0.5 },
    removeOnComplete: true,
    removeOnFail: true,
  }

  return {
    async add(ids) {
      await queue.addBulk(ids.map((jobId) => ({ name, data: null, opts: { ...jobOptions, jobId } })))
    },
    async stop() {
      endObservation()
      await worker.close(connection.status !== 'ready')
      await queue.close()
    },
  }
}

interface Performing<N extends JobName> {
  name: N
  options: QueueOptions<N>
  parts: QueueParts
  counts: Record<'completed' | 'failed', BoundCounter>
}

async function perform<N extends JobName>(
  { name, options, parts, counts }: Performing<N>,
  queued: Job,
  token: string | undefined,
): Promise<void> {
  const { id, attemptsMade } = queued
  const { handler, attempts } = options
  const { db, logger, metrics, clock } = parts
  const job = await findJob<N>(db, id!)
  if (!job) return
  const waitMs = options.waitMs?.(job.data) ?? 0
  if (waitMs > 0) {
    await queued.moveToDelayed(Date.now() + waitMs, token)
    throw new DelayedError()
  }

  const begun = performance.now()
  const count = (outcome: 'completed' | 'failed') => {
    counts[outcome].add()
    metrics
      .histogram(metric.jobDuration)
      .with({ [label.queue]: name, [label.outcome]: outcome })
      .record((performance.now() - begun) / 1_000)
  }
  const span = { kind: SpanKind.CONSUMER, parent: job.trace, attributes: { [spanAttribute.queue]: name } }
  try {
    await inSpan(spanName.runJob, span, () => handler(job.data, id!))
  } catch (err) {
    count('failed')
    const isLast = attemptsMade + 1 >= attempts
    logger.warn({ err, queue: name, job: id, attempt: attemptsMade + 1, isLast }, 'a job failed')
    if (isLast) await options.onGivenUp?.(job.data)
    if (isLast) await markJobFailed(db, id!, clock(), err instanceof Error ? err.message : String(err))
    throw err
  }
  count('completed')
  await deleteJob(db, id!)
}
