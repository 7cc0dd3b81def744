import { type BlobStore, openBlobs } from '@parley/blobs'
import type { Config } from '@parley/config'
import { type Connection, connectDatabase, type Database } from '@parley/database'
import { createEphemeralPublisher, createWaker, type EphemeralPublisher } from '@parley/events'
import { createTokens, type Tokens } from '@parley/identity'
import { createLogger, createMetrics, type Logger, label, type Metrics, metric } from '@parley/telemetry'

/** What every service is made of. Built once per process and handed down; there are no globals. */
export interface Deps {
  config: Config
  db: Database
  /** The pool below `db`, for statements that are prepared by name. */
  pool: Connection['pool']
  /** The bytes of files and images. */
  blobs: BlobStore
  logger: Logger
  metrics: Metrics
  tokens: Tokens
  /** Epoch milliseconds. */
  clock: () => number
  /** Tells the relay that something was committed to the outbox: a hint, never waited for. */
  wakeRelay: () => void
  /** Tells open streams what matters only now; never waited for, and lost while Redis is away. */
  publishEphemeral: EphemeralPublisher['publish']
}

export interface OpenDeps {
  deps: Deps
  /** Closes connections; metrics last. */
  close(): Promise<void>
}

/** Opens what a process needs: nothing is connected yet, so a dependency that is away does not stop the start. */
export function openDeps(name: string, config: Config, clock: () => number = Date.now): OpenDeps {
  const logger = createLogger({ service: name, level: config.log.level })
  const metrics = createMetrics({ service: name, logger })
  const connection = connectDatabase({
    url: config.database.url,
    poolSize: config.database.poolSize,
    applicationName: `parley-${name}`,
    onIdleError: (error) => logger.warn({ err: error }, 'an idle database connection was lost'),
  })
  const waker = createWaker(config.redis)
  const ephemeral = createEphemeralPublisher({ redis: config.redis, logger, metrics })
  const tokens = createTokens({ secrets: [config.auth.jwtSecret].flat(), issuer: config.auth.issuer, clock })
  const { db, pool } = connection
  metrics.gauge(metric.databaseConnections, () => [
    { value: pool.totalCount - pool.idleCount, labels: { [label.state]: 'busy' } },
    { value: pool.idleCount, labels: { [label.state]: 'idle' } },
    { value: pool.waitingCount, labels: { [label.state]: 'awaited' } },
  ])
  const blobs = openBlobs({ storage: config.storage, db })
  return {
    deps: {
      config,
      db,
      pool,
      blobs,
      logger,
      metrics,
      tokens,
      clock,
      wakeRelay: () => waker.wake(),
      publishEphemeral: ephemeral.publish,
    },
    async close() {
      waker.close()
      ephemeral.close()
      await blobs.close()
      await connection.close()
      await metrics.close()
    },
  }
}
