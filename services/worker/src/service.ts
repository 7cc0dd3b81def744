import { hostname } from 'node:os'
import { uuidv7 } from '@parley/database'
import { createRelay } from '@parley/events'
import { createWorker, type JobWorker } from '@parley/jobs'
import { type Deps, type Service, storageCheck } from '@parley/service'
import { startCleanUp } from './clean-up/clean-up.timer.ts'
import { computeExport, giveUpExport } from './exports/compute-export.ts'
import { createPostman } from './mail/mail.ts'
import { purgeChannel } from './purge/purge.ts'
import { startProjector } from './search/projector.ts'
import { addThumbnail } from './thumbnails/image-thumbnail.ts'

const mailsAtOnce = 5
const mailBackoffMs = 2_000
const purgeAttempts = 10
const thumbnailAttempts = 6
const exportAttempts = 10
/** Half a year: what they name is known to nobody else. */
const blobAttempts = 20

export interface Worker extends Service {
  /** Wakes the relay; without a detour when it leads in this process. */
  wakeRelay(): void
}

/** What happens behind the requests: the relay of events, what search reads, e-mail, and tidying up. It has no routes. */
export function worker(deps: Deps): Worker {
  const { config, db, pool, blobs, logger, metrics, clock } = deps
  const { redis } = config
  const takeOverMs = config.jobs.takeOverSeconds * 1_000
  const relay = createRelay({
    pool,
    redis,
    logger,
    metrics,
    events: config.events,
    holder: `${hostname()} ${process.pid} ${uuidv7()}`,
  })
  const postman = createPostman(config)
  const mailQueue = () =>
    createWorker({
      name: 'send-mail',
      handler: postman.send,
      attempts: config.email.maxRetries + 1,
      backoffMs: mailBackoffMs,
      concurrency: mailsAtOnce,
      takeOverMs,
      db,
      redis,
      logger,
      metrics,
      clock,
    })
  const purgeQueue = () =>
    createWorker({
      name: 'purge-channel',
      handler: (data) => purgeChannel({ db, clock }, data),
      attempts: purgeAttempts,
      backoffMs: 5_000,
      concurrency: 1,
      takeOverMs,
      db,
      redis,
      logger,
      metrics,
      clock,
    })
  const stopping = new AbortController()
  const exportQueue = () =>
    createWorker({
      name: 'compute-export',
      handler: (data) => computeExport(deps, data, stopping.signal),
      onGivenUp: (data) => giveUpExport(deps, data),
      attempts: exportAttempts,
      backoffMs: 2_000,
      concurrency: 1,
      takeOverMs,
      db,
      redis,
      logger,
      metrics,
      clock,
    })
  const thumbnailQueue = () =>
    createWorker({
      name: 'make-thumbnail',
      handler: (data) => addThumbnail(deps, data),
      attempts: thumbnailAttempts,
      backoffMs: 5_000,
      concurrency: 1,
      takeOverMs,
      db,
      redis,
      logger,
      metrics,
      clock,
    })
  const blobQueue = () =>
    createWorker({
      name: 'delete-blobs',
      handler: ({ keys }) => blobs.delete(keys),
      attempts: blobAttempts,
      backoffMs: 30_000,
      concurrency: 1,
      db,
      redis,
      logger,
      metrics,
      clock,
    })
  let mail: JobWorker | undefined
  let purge: JobWorker | undefined
  let thumbnails: JobWorker | undefined
  let projector: { stop(): Promise<void> } | undefined
  let exports: JobWorker | undefined
  let blobDeletion: JobWorker | undefined
  let cleanUp: { stop(): Promise<void> } | undefined

  return {
    checks: storageCheck(deps),
    wakeRelay() {
      if (relay.isLeader) relay.wake()
      else deps.wakeRelay()
    },
    async start() {
      // What is wrong with it can be put right while the rest of the house works.
      if (config.storage.store === 's3') blobs.check().catch((err) => logger.error({ err }, 'files cannot be stored'))
      relay.start()
      mail = mailQueue()
      purge = purgeQueue()
      thumbnails = thumbnailQueue()
      exports = exportQueue()
      projector = startProjector({ db, logger, metrics })
      blobDeletion = blobQueue()
      cleanUp = startCleanUp({ db, blobs, logger, clock })
    },
    async stop() {
      // An export takes longer than a stopping process has; another worker begins it anew.
      stopping.abort(new Error('this worker is stopping'))
      const parts = [mail, purge, thumbnails, exports, projector, blobDeletion, cleanUp]
      await Promise.all([relay.stop(), ...parts.map((part) => part?.stop())])
      postman.close()
    },
  }
}
