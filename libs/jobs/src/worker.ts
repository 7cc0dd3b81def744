import { setTimeout as delay } from 'node:timers/promises'
import type { JobName } from '@parley/contract'
import type { Database } from '@parley/database'
import { createSignal } from '@parley/events'
import { connectRedis, followChannel, openRedis, type RedisSettings, redisNames } from '@parley/redis'
import type { Logger, Metrics } from '@parley/telemetry'
import { claimJobs, unclaimJobs } from './jobs.queries.ts'
import { type JobQueue, openQueue, type QueueOptions } from './queue.ts'

export interface WorkerOptions {
  /** What this process does, by the jobs' names. */
  queues: { [N in JobName]?: QueueOptions<N> }
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
  /** Hint from within the same process that a job may have been recorded. */
  wake(): void
  /** Takes no new jobs, and resolves when those under way are done. */
  stop(): Promise<void>
}

/**
 * Does the jobs that `recordJob` recorded. The table `jobs` is the truth, BullMQ decides who does what and when: Redis gets nothing but
 * the row's id, and a row goes when its job has succeeded. One statement looks for the jobs of all queues.
 */
export function createWorker(options: WorkerOptions): JobWorker {
  const { againAfterMs = 60_000, takeOverMs = 30_000, db, redis: settings, logger, metrics, clock } = options
  // BullMQ wants commands to wait for Redis as long as it takes; its blocking connections are made after this one.
  const redis = openRedis(settings, {
    connectionName: 'parley-jobs',
    maxRetriesPerRequest: null,
    retryStrategy: (attempt) => Math.min(100 * attempt, 2_000),
  })
  redis.on('error', () => {})
  const { jobs: prefix, wake } = redisNames(settings)
  const parts = { db, connection: redis, prefix, takeOverMs, logger, metrics, clock }
  const queues = new Map<JobName, JobQueue>()
  const open = <N extends JobName>(name: N, queue: QueueOptions<N> | undefined) =>
    queue && queues.set(name, openQueue(name, queue, parts))
  for (const name of Object.keys(options.queues) as JobName[]) open(name, options.queues[name])
  const names = [...queues.keys()]

  async function feed(): Promise<number> {
    if (redis.status !== 'ready') return 0
    const claimed = await claimJobs(db, names, againAfterMs)
    const added = await Promise.all([...claimed].map(([name, ids]) => add(name, ids)))
    return added.reduce((sum, count) => sum + count, 0)
  }

  /** A queue that takes no jobs holds up no other. */
  async function add(name: JobName, ids: string[]): Promise<number> {
    try {
      await queues.get(name)!.add(ids)
      return ids.length
    } catch (err) {
      logger.warn({ err, queue: name }, 'jobs could not be enqueued')
      await unclaimJobs(db, ids)
      return 0
    }
  }

  const feeder = startFeeder({ feed, onError: (err) => logger.warn({ err }, 'jobs could not be enqueued') })
  const hints = connectRedis({ settings, name: 'parley-jobs-hints', logger })
  followChannel({ redis: hints, channel: wake, logger, onMessage: feeder.wake })

  return {
    wake: feeder.wake,
    async stop() {
      hints.disconnect()
      // Without Redis there is nothing to wait for: what was claimed is claimed again, by whoever comes next.
      if (redis.status !== 'ready') redis.disconnect()
      await feeder.stop()
      await Promise.all([...queues.values()].map((queue) => queue.stop()))
      redis.disconnect()
    },
  }
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

/** Feeds the queues soon after a hint, every second without one, and at once while there are more jobs. */
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
