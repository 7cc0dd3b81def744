import type { Logger } from '@parley/telemetry'
import type { Redis } from 'ioredis'
import { openRedis, type RedisSettings } from './redis.client.ts'

export interface RedisConnection {
  settings: RedisSettings
  /** Shown in CLIENT LIST, for the operator. */
  name: string
  logger: Logger
}

/**
 * A connection that comes back by itself, within 2 s of Redis' return. A command given while it is away fails at once and
 * is not repeated: whoever gave it knows better what is to be done by then. Losing and finding Redis is logged once each.
 */
export function connectRedis({ settings, name, logger }: RedisConnection): Redis {
  const redis = openRedis(settings, {
    connectionName: name,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // Whoever subscribes does so at each `ready`: nobody hears of ioredis' own attempt when it fails, which ends the process.
    autoResubscribe: false,
    commandTimeout: 5_000,
    retryStrategy: (attempt) => Math.min(50 * attempt, 2_000),
  })
  let away = false
  redis.on('error', (err) => {
    if (!away) logger.warn({ err, connection: name }, 'Redis is away')
    away = true
  })
  redis.on('ready', () => {
    if (away) logger.info({ connection: name }, 'Redis is back')
    away = false
  })
  return redis
}

export const isReady = (redis: Redis) => redis.status === 'ready'

/** Resolves once Redis has let us in or is found to be away, so that no start hangs on it, and no stop on such a start. */
export function readyOrAway(redis: Redis): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  // Between two tries, which are told of, it is away; closed then, it tells nothing any more.
  if (isReady(redis) || redis.status === 'reconnecting' || redis.status === 'end') resolve()
  for (const event of ['ready', 'error', 'close', 'end']) redis.once(event, resolve)
  return promise
}
