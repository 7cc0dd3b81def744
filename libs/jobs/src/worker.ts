import { setTimeout as delay } from 'node:timers/promises'
import type { JobData, JobName } from '@parley/contract'
import type { Database } from '@parley/database'
import { createSignal } from '@parley/events'
import { connectRedis, followChannel, openRedis, type RedisSettings, redisNames } from '@parley/redis'
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
import { claimJobs, countJobs, deleteJob, findJob, markJobFailed, unclaimJobs } from './jobs.queries.ts'

export interface WorkerOptions<N extends JobName> {
  name: N
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
  /** Jobs that this process does at once. */
  concurrency: number
  /** After this time a job is handed to Redis again, where that changes nothing unless Redis has lost it. 60 s unless given. */
  againAfterMs?: number
  /** After about twice this time, the job of a worker that says nothing any more is done by another. 30 s unless given. */
  takeOverMs?: number
  db: Database
  redis: RedisSettings
  logger: Logger
  metrics: Metrics
  clock: () => number
}

export interface JobWorker {
  /** Takes no new jobs, and resolves when those under way are done. */
  stop(): Promise<void>
}

/**
 * Does the jobs of one name that `recordJob` recorded. The table `jobs` is the truth, BullMQ decides who does what and when:
 * Redis gets nothing but the row's id, and a row goes when its job has succeeded.
 */
export function createWorker<N extends JobName>(options: WorkerOptions<N>): JobWorker {
  const {
    name,
    attempts,
    backoffMs,
    concurrency,
    againAfterMs = 60_000,
    db,
    redis: settings,
    logger,
    metrics,
  } = options
  const { takeOverMs = 30_000 } = options
  // BullMQ wants commands to wait for Redis as long as it takes; its blocking connection is made after this one.
  const redis = openRedis(settings, {
    connectionName: `parley-jobs-${name}`,
    maxRetriesPerRequest: null,
    retryStrategy: (attempt) => Math.min(100 * attempt, 2_000),
  })
  redis.on('error', () => {})
  const { jobs: prefix, wake } = redisNames(settings)
  const queue = new Queue(name, { connection: redis, prefix })
  const done = metrics.counter(metric.jobs)
  // Made here rather than at the first job, so that a rate sees that job.
  const counts = {
    completed: done.with({ [label.queue]: name, [label.outcome]: 'completed' }),
    failed: done.with({ [label.queue]: name, [label.outcome]: 'failed' }),
  }
  const worker = new Worker(name, (job, token) => perform(options, counts, job, token), {
    connection: redis,
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

  async function feed(): Promise<number> {
    if (redis.status !== 'ready') return 0
    const ids = await claimJobs(db, name, againAfterMs)
    if (ids.length === 0) return 0
    const opts = {
      attempts,
      backoff:
        typeof backoffMs === 'function'
          ? { type: 'own schedule' }
          : { type: 'exponential', delay: backoffMs, jitter: 0.5 },
      removeOnComplete: true,
      removeOnFail: true,
    }
    try {
      await queue.addBulk(ids.map((jobId) => ({ name, data: null, opts: { ...opts, jobId } })))
    } catch (error) {
      await unclaimJobs(db, ids)
      throw error
    }
    return ids.length
  }

  const feeder = startFeeder({
    feed,
    onError: (err) => logger.warn({ err, queue: name }, 'jobs could not be enqueued'),
  })
  const hints = connectRedis({ settings, name: `parley-jobs-${name}-hints`, logger })
  followChannel({ redis: hints, channel: wake, logger, onMessage: feeder.wake })

  const endObservation = metrics.gauge(metric.queueDepth, async () => {
    const [{ recorded, dead }, counts] = await Promise.all([
      countJobs(db, name),
      queue.getJobCounts('wait', 'active', 'delayed'),
    ])
    return Object.entries({ recorded, dead, ...counts }).map(([state, value]) => ({
      value,
      labels: { [label.queue]: name, [label.state]: state },
    }))
  })

  return {
    async stop() {
      endObservation()
      hints.disconnect()
      // Without Redis there is nothing to wait for: what was claimed is claimed again, by whoever comes next.
      if (redis.status !== 'ready') redis.disconnect()
      await feeder.stop()
      await worker.close(redis.status !== 'ready')
      await queue.close()
      redis.disconnect()
    },
  }
}

async function perform<N extends JobName>(
  options: WorkerOptions<N>,
  counts: Record<'completed' | 'failed', BoundCounter>,
  queued: Job,
  token: string | undefined,
): Promise<void> {
  const { id, attemptsMade } = queued
  const { name, handler, attempts, db, logger, metrics, clock } = options
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

interface Feeder {
  /** Hints that a job may have been recorded. */
  wake(): void
  stop(): Promise<void>
}

interface FeederOptions {
  /** Hands one batch over. Returns the number of jobs. */
  feed(): Promise<number>
  onError(error: unknown): void
}

const pollMs = 1_000
/** Least time between two batches: hints come with every message, and most of them are not about jobs. */
const pauseMs = 250

/** Feeds the queue soon after a hint, every second without one, and at once while there are more jobs. */
function startFeeder({ feed, onError }: FeederOptions): Feeder {
  const signal = createSignal()
  const stopping = new AbortController()

  async function run() {
    while (!stopping.signal.aborted) {
      try {
        if ((await feed()) > 0) continue
      } catch (error) {
        onError(error)
      }
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
      if (!stopping.signal.aborted) await signal.wait(pollMs)
    }
  }
  const running = run()

  return {
    wake: signal.ring,
    async stop() {
      stopping.abort()
      signal.ring()
      await running
    },
  }
}
