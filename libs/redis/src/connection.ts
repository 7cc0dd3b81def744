import type { Logger } from '@parley/telemetry'
import type { Redis } from 'ioredis'
import { openRedis, type RedisSettings } from './client.ts'

export interface RedisConnection {
  settings: RedisSettings
  /** Shown in CLIENT LIST, for the operator. */
  name: string
  logger: Logger
}

/**
 * A connection that reconnects by itself, within 2 s of Redis' return. A command given while Redis is away fails at once and
 * is not repeated: the caller knows better what is to be done by then. Losing and finding Redis is logged once each.
 */
export function connectRedis({ settings, name, logger }: RedisConnection): Redis {
  const redis = openRedis(settings, {
    connectionName: name,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // `followChannel` subscribes at each `ready`. When ioredis' own attempt fails, nobody handles the error and the process ends.
    autoResubscribe: false,
    commandTimeout: 5_000,
    retryStrategy: (tries) => Math.min(50 * tries, 2_000),
  })
  let isAway = false
  redis.on('error', (err) => {
    if (!isAway) logger.warn({ err, connection: name }, 'Redis is away')
    isAway = true
  })
  redis.on('ready', () => {
    if (isAway) logger.info({ connection: name }, 'Redis is back')
    isAway = false
  })
  return redis
}

export const isReady = (redis: Redis) => redis.status === 'ready'

/** Resolves once the connection is ready or Redis is found to be away, so that no start waits for Redis. */
export function readyOrAway(redis: Redis): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  // Between two tries Redis is away. A connection closed then emits no further event.
  if (isReady(redis) || redis.status === 'reconnecting' || redis.status === 'end') resolve()
  for (const event of ['ready', 'error', 'close', 'end']) redis.once(event, resolve)
  return promise
}

/**
 * The command that publishes. In a cluster a plain one goes to every node, a sharded one only to those that serve the slot of
 * the channel. A single Redis keeps the plain one, because earlier versions of Parley know no other.
 */
export const publishCommand = ({ isCluster }: Redis) => (isCluster ? 'SPUBLISH' : 'PUBLISH')

/** Publishes a text on a channel, in a cluster too. @throws when Redis is away. */
export function publish(redis: Redis, channel: string, text: string): Promise<unknown> {
  return redis.isCluster ? redis.spublish(channel, text) : redis.publish(channel, text)
}

export interface ChannelOptions {
  /** A connection that does nothing else. */
  redis: Redis
  channel: string
  logger: Logger
  onMessage(text: string): void
  /** Called after each subscription, the first and every later one: what was published before it may have been missed. */
  onFollowing?(): void
}

export interface Channel {
  /** Resolves once the channel is subscribed to, or Redis is found to be away. */
  begun(): Promise<void>
}

/** Follows a channel whenever Redis is there. Call it right after the connection was made. */
export function followChannel({ redis, channel, logger, onMessage, onFollowing = () => {} }: ChannelOptions): Channel {
  let latest: Promise<void> | undefined
  const subscribe = async () => {
    try {
      await (redis.isCluster ? redis.ssubscribe(channel) : redis.subscribe(channel))
      onFollowing()
    } catch (err) {
      logger.debug({ err, channel }, 'could not subscribe, will try again')
    }
  }
  redis.on(redis.isCluster ? 'smessage' : 'message', (_channel: string, text: string) => onMessage(text))
  redis.on('ready', () => {
    latest = subscribe()
  })
  // A cluster subscribes again by itself when a slot has moved.
  if (redis.isCluster) redis.on('subscribersReady', () => onFollowing())
  return {
    async begun() {
      await readyOrAway(redis)
      await latest
    },
  }
}
