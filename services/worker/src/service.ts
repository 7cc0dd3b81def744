import { hostname } from 'node:os'
import type { JobName } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { createRelay } from '@parley/events'
import { createWorker, type JobWorker, type WorkerOptions } from '@parley/jobs'
import { type Deps, type Service, storageCheck } from '@parley/service'
import { startCleanUp } from './clean-up/clean-up.ts'
import { giveUpExport } from './exports/compute-export.ts'
import { createExporter } from './exports/exporter.ts'
import { makeAvatar } from './images/avatars.ts'
import { addThumbnail } from './images/thumbnails.ts'
import { createMailer, mostMails, retryMs } from './mail/mailer.ts'
import { purgeChannel } from './purge/purge.ts'
import { rereadWhatIsLost } from './search/projection.queries.ts'
import { startProjector } from './search/projector.ts'
import { startStatistics } from './statistics/statistics.ts'

export interface Worker extends Service {
  /** Wakes the relay, directly when it leads in this process. */
  wakeRelay(): void
}

/** The work behind the requests: the relay of events, the projection of search, e-mail, jobs and clean-up. It has no routes. */
export function worker(deps: Deps): Worker {
  const { config, db, pool, blobs, logger, metrics, clock } = deps
  const { redis } = config
  const stopping = new AbortController()
  const relay = createRelay({
    pool,
    redis,
    logger,
    metrics,
    events: config.events,
    holder: `${hostname()} ${process.pid} ${uuidv7()}`,
    beforeRotation: rereadWhatIsLost,
  })
  const mailer = createMailer(config)
  const exporter = createExporter(config)

  const queues = [
    queue({
      name: 'send-mail',
      handler: mailer.send,
      waitMs: mailer.waitMs,
      attempts: config.email.maxRetries + 1,
      backoffMs: retryMs,
      concurrency: mostMails,
    }),
    queue({
      name: 'purge-channel',
      handler: (data) => purgeChannel({ db, clock }, data),
      attempts: 10,
      backoffMs: 5_000,
    }),
    queue({
      name: 'compute-export',
      handler: (data) => exporter.compute(data, stopping.signal),
      onGivenUp: (data) => giveUpExport(deps, data),
      attempts: 10,
      backoffMs: 2_000,
    }),
    queue({
      name: 'make-thumbnail',
      handler: (data) => addThumbnail(deps, data),
      attempts: 6,
      backoffMs: 5_000,
    }),
    queue({
      name: 'make-avatar',
      handler: (data) => makeAvatar(deps, data),
      attempts: 6,
      backoffMs: 5_000,
    }),
    queue({
      name: 'delete-blobs',
      handler: ({ keys }) => blobs.delete(keys),
      // For half a year: no row has these keys any more.
      attempts: 20,
      backoffMs: 30_000,
    }),
  ]
  let parts: { stop(): Promise<void> }[] = []

  return {
    checks: storageCheck(deps),
    wakeRelay() {
      if (relay.isLeader) relay.wake()
      else deps.wakeRelay()
    },
    async start() {
      // What is wrong with it can be put right while the rest of the server works.
      if (config.storage.store === 's3') blobs.check().catch((err) => logger.error({ err }, 'files cannot be stored'))
      relay.start()
      parts = [
        ...queues.map((open) => open()),
        startProjector({ db, logger, metrics }),
        startCleanUp({ db, blobs, logger, clock }),
        startStatistics({ db, logger }),
      ]
    },
    async stop() {
      // An export may take longer than this process has; another worker begins it anew.
      stopping.abort(new Error('this worker is stopping'))
      await Promise.all([relay.stop(), ...parts.map((part) => part.stop())])
      await exporter.stop()
      mailer.close()
    },
  }

  function queue<N extends JobName>(job: QueueOptions<N>): () => JobWorker {
    const takeOverMs = config.jobs.takeOverSeconds * 1_000
    return () => createWorker({ concurrency: 1, ...job, takeOverMs, db, redis, logger, metrics, clock })
  }
}

/** The options in which the queues differ. */
type QueueOptions<N extends JobName> = Pick<
  WorkerOptions<N>,
  'name' | 'handler' | 'waitMs' | 'onGivenUp' | 'attempts' | 'backoffMs'
> & { concurrency?: number }
