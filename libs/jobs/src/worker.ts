import { setTimeout as delay } from 'node:timers/promises'
import type { JobName } from '@parley/contract'
import type { Database } from '@parley/database'
import { createSignal } from '@parley/events'
import { connectRedis, followChannel, openRedis, type RedisSettings, redisNames } from '@parley/redis'
import { createFailureLog, type FailureLog, type Logger, type Metrics } from '@parley/telemetry'
import { claimJobs, unclaimJobs } from './jobs.queries.ts'
import { type JobQueue, openQueue, type QueueOptions } from './queue.ts'

export interface WorkerOptions {
  /** The queues of this process, by the names of their jobs. */
  queues: { [N in JobName]?: QueueOptions<N> }
  /** After this time a job is added to its queue again. That changes nothing unless Redis has lost the job. 60 s unless given. */
  againAfterMs?: number
  /** After about twice this time without a heartbeat, another worker takes over the jobs of a worker. 30 s unless given. */
  takeOverMs?: number
  db: Database
  redis: RedisSettings
  logger: Logger
  metrics: Metrics
  clock: () => number
}

export interface JobWorker {
  /** A hint of the same process that a job may have been recorded. */
  wake(): void
  /** Takes no new jobs, and resolves when the running ones are done. */
  stop(): Promise<void>
}

/**
 * Does the jobs that `recordJob` recorded. The table `jobs` is the source of truth, and BullMQ decides which worker
 * does which job when. Redis gets only the id of the row. The row is deleted when its job has succeeded. One statement
 * claims the jobs of all queues.
 */
export function createWorker(options: WorkerOptions): JobWorker {
  const { againAfterMs = 60_000, takeOverMs = 30_000, db, redis: settings, logger, metrics, clock } = options
  // BullMQ requires that commands wait for Redis without a limit. It copies this connection for its blocking commands.
  const redis = openRedis(settings, {
    connectionName: 'parley-jobs',
    maxRetriesPerRequest: null,
    retryStrategy: (attempt) => Math.min(100 * attempt, 2_000),
  })
  redis.on('error', () => {})
  const { jobs: prefix, wake } = redisNames(settings)
  const parts = { db, connection: redis, prefix, takeOverMs, logger, metrics, clock }
  const queues = new Map<JobName, { queue: JobQueue; failures: FailureLog }>()
  const failureLog = () => createFailureLog(logger, 'jobs could not be enqueued')
  const open = <N extends JobName>(name: N, options: QueueOptions<N> | undefined) =>
    options && queues.set(name, { queue: openQueue(name, options, parts), failures: failureLog() })
  for (const name of Object.keys(options.queues) as JobName[]) open(name, options.queues[name])
  const names = [...queues.keys()]

  async function feed(): Promise<number> {
    if (redis.status !== 'ready') return 0
    const claimed = await claimJobs(db, names, againAfterMs)
    const added = await Promise.all([...claimed].map(([name, ids]) => add(name, ids)))
    return added.reduce((sum, count) => sum + count, 0)
  }

  /** Adds jobs to one queue. A failure of one queue does not delay the others. */
  async function add(name: JobName, ids: string[]): Promise<number> {
    const { queue, failures } = queues.get(name)!
    try {
      await queue.add(ids)
      failures.succeeded()
      return ids.length
    } catch (err) {
      failures.failed(err, 'warn', { queue: name })
      await unclaimJobs(db, ids)
      return 0
    }
  }

  const feeder = startFeeder({ feed, failures: failureLog() })
  const hints = connectRedis({ settings, name: 'parley-jobs-hints', logger })
  followChannel({ redis: hints, channel: wake, logger, onMessage: feeder.wake })

  return {
    wake: feeder.wake,
    async stop() {
      hints.disconnect()
      // Without Redis there is nothing to wait for. Another worker claims the jobs again.
      if (redis.status !== 'ready') redis.disconnect()
      await feeder.stop()
      await Promise.all([...queues.values()].map(({ queue }) => queue.stop()))
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
  /** Adds one batch of jobs to the queues. Returns the number of jobs. */
  feed(): Promise<number>
  failures: FailureLog
}

const pollMs = 1_000
/** The shortest time between two batches. Hints come with every message, and most of them are not for jobs. */
const pauseMs = 250

/** Feeds the queues: at once while there are more jobs, soon after a hint, and every second without one. */
function startFeeder({ feed, failures }: FeederOptions): Feeder {
  const signal = createSignal()
  const stopping = new AbortController()

  async function run() {
    while (!stopping.signal.aborted) {
      try {
        const count = await feed()
        failures.succeeded()
        if (count > 0) continue
      } catch (error) {
        failures.failed(error)
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
