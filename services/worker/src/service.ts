import { hostname } from 'node:os'
import { missedMessagesAfterSeconds } from '@parley/config'
import type { JobData } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { createRelay } from '@parley/events'
import { createWorker, type JobWorker, type WorkerOptions } from '@parley/jobs'
import { createLimiter } from '@parley/limiter'
import { createRequester, type Requester } from '@parley/requester'
import { type Deps, type Service, storageCheck } from '@parley/service'
import { startCleanUp } from './clean-up/clean-up.ts'
import { giveUpExport } from './exports/compute-export.ts'
import { createExporter, type Exporter } from './exports/exporter.ts'
import { makeAvatar } from './images/avatars.ts'
import { type EncodeImage, encodeImage } from './images/encoder.ts'
import { startImageSizes } from './images/image-sizes.ts'
import { addThumbnail } from './images/thumbnails.ts'
import { createMailer, type Mailer, maxMails, retryMs } from './mail/mailer.ts'
import { mayReceive } from './mail/recipients.ts'
import { startMissedMessages } from './missed-messages/missed-messages.ts'
import { findMissedMessagesMail } from './missed-messages/missed-messages-mail.ts'
import { startPeopleUpkeep } from './people/people-upkeep.ts'
import { makePreviews } from './previews/make-previews.ts'
import { purgeChannel } from './purge/purge.ts'
import { rereadLostMessages } from './search/projection.queries.ts'
import { startProjector } from './search/projector.ts'
import { startStatistics } from './statistics/statistics.ts'

export interface Worker extends Service {
  /** Wakes the relay and the job worker, directly when the relay leads in this process. */
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
    beforeRotation: rereadLostMessages,
  })
  const mailer = createMailer(config, async (mail: JobData<'send-mail'>) =>
    (await mayReceive(deps, mail)) ? mail : undefined,
  )
  const missedMessagesMailer = createMailer(config, (job: JobData<'send-missed-messages'>) =>
    findMissedMessagesMail(deps, job),
  )
  const exporter = createExporter(config)
  const requester = createRequester(config.integrations)

  let jobs: JobWorker | undefined
  let parts: { stop(): Promise<void> }[] = []

  return {
    checks: storageCheck(deps),
    wakeRelay() {
      if (!relay.isLeader) return deps.wakeRelay()
      relay.wake()
      jobs?.wake()
    },
    async start() {
      // The operator can solve a problem with the store while the rest of the server works.
      if (config.storage.store === 's3') blobs.check().catch((err) => logger.error({ err }, 'files cannot be stored'))
      relay.start()
      const takeOverMs = config.jobs.takeOverSeconds * 1_000
      jobs = createWorker({
        queues: queuesOf({ deps, mailer, missedMessagesMailer, exporter, requester, stopping: stopping.signal }),
        takeOverMs,
        db,
        redis,
        logger,
        metrics,
        clock,
      })
      parts = [
        jobs,
        startProjector({ db, logger, metrics }),
        startCleanUp({ db, blobs, logger, clock, keepMs: config.events.consumerDays * 86_400_000 }),
        startStatistics({ db, logger }),
        startPeopleUpkeep({ db, config, logger, clock }),
        startImageSizes({ db, blobs, logger }),
        ...(missedMessagesAfterSeconds(config) !== null ? [startMissedMessages({ db, config, logger, clock })] : []),
      ]
    },
    async stop() {
      // An export or a slow web site may take longer than the time that this process has. Another worker begins again.
      stopping.abort(new Error('this worker is stopping'))
      await Promise.all([relay.stop(), ...parts.map((part) => part.stop())])
      await exporter.stop()
      mailer.close()
      missedMessagesMailer.close()
      await requester.close()
    },
  }
}

interface QueueParts {
  deps: Deps
  mailer: Mailer<JobData<'send-mail'>>
  /** Has connections and limits of its own, so that many such mails do not delay a sign-in. */
  missedMessagesMailer: Mailer<JobData<'send-missed-messages'>>
  exporter: Exporter
  requester: Requester
  /** Aborted when this process stops. */
  stopping: AbortSignal
}

/** The queues of the worker, with the handler of each kind of job. */
const queuesOf = ({
  deps,
  mailer,
  missedMessagesMailer,
  exporter,
  requester,
  stopping,
}: QueueParts): WorkerOptions['queues'] => {
  const { config, db, blobs, clock } = deps
  // An image may need some hundred megabytes while it is decoded.
  const oneAtATime = createLimiter(1)
  const encode: EncodeImage = (image, square) => oneAtATime(() => encodeImage(image, square))
  return {
    'send-mail': {
      handler: mailer.send,
      waitMs: mailer.waitMs,
      attempts: config.email.maxRetries + 1,
      backoffMs: retryMs,
      concurrency: maxMails,
    },
    'send-missed-messages': {
      handler: missedMessagesMailer.send,
      waitMs: missedMessagesMailer.waitMs,
      attempts: config.email.maxRetries + 1,
      backoffMs: retryMs,
      concurrency: maxMails,
    },
    'purge-channel': {
      handler: (data) => purgeChannel({ db, clock }, data),
      attempts: 10,
      backoffMs: 5_000,
    },
    'compute-export': {
      handler: (data) => exporter.compute(data, stopping),
      onGivenUp: (data) => giveUpExport(deps, data),
      attempts: 10,
      backoffMs: 2_000,
    },
    'make-thumbnail': {
      handler: (data) => addThumbnail(deps, data),
      attempts: 6,
      backoffMs: 5_000,
    },
    'make-avatar': {
      handler: (data) => makeAvatar(deps, data),
      attempts: 6,
      backoffMs: 5_000,
    },
    'make-previews': {
      handler: (data) => makePreviews({ ...deps, requester, encode, stopping }, data),
      attempts: 4,
      backoffMs: 5_000,
      // Most of the time is spent waiting for other sites.
      concurrency: 10,
    },
    'delete-blobs': {
      handler: ({ keys }) => blobs.delete(keys),
      // The attempts continue for half a year, because no row has these keys any more.
      attempts: 20,
      backoffMs: 30_000,
    },
  }
}
