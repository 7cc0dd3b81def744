import { createPublicKey } from 'node:crypto'
import { type BlobStore, openBlobs } from '@parley/blobs'
import { type Config, readKeyFile } from '@parley/config'
import { type Connection, connectDatabase, type Database } from '@parley/database'
import { createEphemeralPublisher, createWaker, type EphemeralPublisher } from '@parley/events'
import { createSeals, createTokens, type Seals, type Tokens } from '@parley/identity'
import { createLogger, createMetrics, type Logger, label, type Metrics, metric } from '@parley/telemetry'

/** The dependencies of every service. They are created once per process and passed down. There are no globals. */
export interface Deps {
  config: Config
  db: Database
  /** The pool of `db`, for statements that are prepared by name. */
  pool: Connection['pool']
  /** The bytes of files and images. */
  blobs: BlobStore
  logger: Logger
  metrics: Metrics
  tokens: Tokens
  seals: Seals
  /** Epoch milliseconds. */
  clock: () => number
  /** Hints to the relay that something was committed to the outbox. Never awaited. */
  wakeRelay: () => void
  /** Publishes an ephemeral event. Never awaited. While Redis is unavailable, the event is lost. */
  publishEphemeral: EphemeralPublisher['publish']
}

interface OpenDeps {
  deps: Deps
  /**
   * These dependencies with separate connections to another database URL, for services that share a process but not a
   * database role.
   */
  signedInAt(databaseUrl: string): Deps
  /** Closes all connections, then the metrics. */
  close(): Promise<void>
}

/** Creates the dependencies of a process. It does not connect yet, so an unavailable dependency does not prevent the start. */
export function openDeps(
  name: string,
  config: Config,
  clock: () => number = Date.now,
  { usesRedis = true } = {},
): OpenDeps {
  const logger = createLogger({ service: name, level: config.log.level })
  const metrics = createMetrics({ service: name, logger })
  const waker = usesRedis ? createWaker(config.redis) : undefined
  const ephemeral = usesRedis ? createEphemeralPublisher({ redis: config.redis, logger, metrics }) : undefined
  const secrets = [config.auth.jwtSecret].flat()
  const seals = createSeals(secrets)
  const tokens = createTokens({ secrets, ...tokenKeys(name, config), issuer: config.auth.issuer, clock })
  const connections: Connection[] = []
  const stores: BlobStore[] = []
  const count = (of: (pool: Connection['pool']) => number) => connections.reduce((sum, { pool }) => sum + of(pool), 0)
  metrics.gauge(metric.databaseConnections, () => [
    { value: count((pool) => pool.totalCount - pool.idleCount), labels: { [label.state]: 'busy' } },
    { value: count((pool) => pool.idleCount), labels: { [label.state]: 'idle' } },
    { value: count((pool) => pool.waitingCount), labels: { [label.state]: 'awaited' } },
  ])

  const signedInAt = (url: string): Deps => {
    const connection = connectDatabase({
      url,
      ca: config.database.tls.ca,
      poolSize: config.database.poolSize,
      applicationName: `parley-${name}`,
      pooler: config.database.pooler,
      preparedStatements: config.database.preparedStatements,
      onIdleError: (error) => logger.warn({ err: error }, 'an idle database connection was lost'),
    })
    const { db, pool } = connection
    const blobs = openBlobs({ storage: config.storage, db })
    connections.push(connection)
    stores.push(blobs)
    return {
      config: { ...config, database: { ...config.database, url } },
      db,
      pool,
      blobs,
      logger,
      metrics,
      tokens,
      seals,
      clock,
      wakeRelay: () => waker?.wake(),
      publishEphemeral: (event) => ephemeral?.publish(event),
    }
  }
  return {
    deps: signedInAt(config.database.url),
    signedInAt,
    async close() {
      waker?.close()
      ephemeral?.close()
      await Promise.all(stores.map((store) => store.close()))
      await Promise.all(connections.map((connection) => connection.close()))
      await metrics.close()
    },
  }
}

/** These services verify access tokens and never issue any. */
const verifyingServices = new Set([
  'gateway',
  'directory',
  'messaging',
  'admin',
  'integrations',
  'realtime',
  'worker',
  'web',
])

/**
 * The key pairs of access tokens. A service that only verifies keeps no private key, even when its configuration names
 * one, for instance where all processes share a configuration file.
 */
function tokenKeys(name: string, { auth }: Pick<Config, 'auth'>) {
  const signingKeys = auth.jwtKeys.map((path) => readKeyFile(path, 'private'))
  const verifyingKeys = auth.jwtPublicKeys.map((path) => readKeyFile(path, 'public'))
  if (!verifyingServices.has(name)) return { signingKeys, verifyingKeys }
  return { verifyingKeys: [...signingKeys.map((key) => createPublicKey(key)), ...verifyingKeys] }
}
