import { setTimeout as delay } from 'node:timers/promises'
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
   * Does the job. When a process ends right after doing a job, the handler is called again for the same job, with the
   * same `id`.
   */
  handler(data: JobData<N>, id: string): Promise<void>
  /**
   * Called before each attempt. 0 starts the attempt now. Any other number is the time in milliseconds after which
   * `waitMs` is called again. A job that waits uses up no attempt, and other jobs run meanwhile. After 0 the handler is
   * called in the same turn of the event loop.
   */
  waitMs?(data: JobData<N>): number
  /** Called for a job that will not be tried again, before it is marked as failed. */
  onGivenUp?(data: JobData<N>): Promise<void>
  /**
   * The number of attempts, at least 1. After the last one the job stays in the table `jobs` with `failed_at` and its
   * failure.
   */
  attempts: number
  /**
   * The pause before the second attempt. It doubles with each further attempt, minus up to half of it at random. Or a
   * function that returns the pause before each retry, counted from 1.
   */
  backoffMs: number | ((retry: number) => number)
  /** Jobs that this process does at the same time; 1 unless given. */
  concurrency?: number
}

/** The dependencies that the queues of a process share. */
export interface QueueParts {
  db: Database
  /** For the commands of all queues. Each queue has another connection, on which it waits for jobs. */
  connection: Redis
  /** Prefix of all names in Redis. */
  prefix: string
  takeOverMs: number
  logger: Logger
  metrics: Metrics
  clock: () => number
}

export interface JobQueue {
  /** Adds jobs. An id that is in the queue already is ignored. */
  add(ids: readonly string[]): Promise<void>
  /** Takes no new jobs, and resolves when the running ones are done. Without Redis it resolves at once. */
  stop(): Promise<void>
}

/** Does the jobs of one name, as BullMQ hands them out. */
export function openQueue<N extends JobName>(name: N, options: QueueOptions<N>, parts: QueueParts): JobQueue {
  const { attempts, backoffMs, concurrency = 1 } = options
  const { connection, prefix, takeOverMs, logger, metrics } = parts
  const queue = new Queue(name, { connection, prefix })
  const done = metrics.counter(metric.jobs)
  // Created before the first job, so that `rate` also counts that job.
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
    // How often a worker may end during a job. The row, not BullMQ, decides when to give up.
    maxStalledCount: 1_000,
    settings: typeof backoffMs === 'function' ? { backoffStrategy: backoffMs } : {},
  })
  // The connection for hints logs the loss of Redis, once for all queues.
  queue.on('error', (err) => logger.debug({ err, queue: name }, 'the queue has no connection'))
  worker.on('error', (err) => logger.debug({ err, queue: name }, 'the worker has no connection'))
  const endObservation = observeDepth(queue, name, parts)
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
      await untilSettled(worker, connection)
      await worker.close(connection.status !== 'ready')
      await queue.close()
    },
  }
}

/**
 * Waits while the connection of the worker's blocking command connects again, as long as Redis is available. BullMQ closes it and waits for
 * its end, but ioredis reports no end of a connection that waits for its next attempt, so `close` would never resolve.
 */
async function untilSettled(worker: Worker, connection: Redis): Promise<void> {
  // Undefined while it connects for the first time.
  const blocking = await Promise.race([worker.backend.blockingClient, undefined])
  const isUnsettled = () => ['reconnecting', 'connecting'].includes(blocking?.status ?? '')
  while (connection.status === 'ready' && isUnsettled()) await delay(settledPollMs)
}

const settledPollMs = 20

/**
 * Observes the number of jobs in each state. Returns a function that ends the observation. PostgreSQL and Redis are asked separately, so
 * that the jobs that wait for an unavailable Redis are still counted.
 */
function observeDepth(queue: Queue, name: JobName, { db, metrics }: QueueParts): () => void {
  const observe = (count: () => Promise<Record<string, number>>) =>
    metrics.gauge(metric.queueDepth, async () =>
      Object.entries(await count()).map(([state, value]) => ({
        value,
        labels: { [label.queue]: name, [label.state]: state },
      })),
    )
  const ends = [
    observe(async () => {
      const { recorded, dead } = await countJobs(db, name)
      return { recorded, dead }
    }),
    observe(() => queue.getJobCounts('wait', 'active', 'delayed')),
  ]
  return () => {
    for (const end of ends) end()
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
    if (isLast) {
      await options.onGivenUp?.(job.data)
      await markJobFailed(db, id!, clock(), err instanceof Error ? err.message : String(err))
    }
    throw err
  }
  count('completed')
  await deleteJob(db, id!)
}
