import type { Logger } from '@parley/telemetry'
import type { Redis } from 'ioredis'
import { openRedis, type RedisSettings } from './client.ts'

interface RedisConnection {
  settings: RedisSettings
  /** The name in CLIENT LIST, for the operator. */
  name: string
  logger: Logger
}

/**
 * A connection that reconnects by itself, within 2 s after Redis is available again. A command that is given while
 * Redis is unavailable fails at once and is not repeated, because only the caller knows whether it still makes sense
 * later. The loss of Redis and its return are logged once each.
 */
export function connectRedis({ settings, name, logger }: RedisConnection): Redis {
  const redis = openRedis(settings, {
    connectionName: name,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // `followChannel` subscribes at each `ready`. An error of ioredis' own resubscription would not be handled, and
    // would end the process.
    autoResubscribe: false,
    commandTimeout: 5_000,
    retryStrategy: (tries) => Math.min(50 * tries, 2_000),
  })
  let isUnavailable = false
  redis.on('error', (err) => {
    if (!isUnavailable) logger.warn({ err, connection: name }, 'Redis is unavailable')
    isUnavailable = true
  })
  redis.on('ready', () => {
    if (isUnavailable) logger.info({ connection: name }, 'Redis is back')
    isUnavailable = false
  })
  return redis
}

/** Whether a command can be sent now. */
export const isReady = (redis: Redis) => redis.status === 'ready'

/** Resolves once the connection is ready or Redis turns out to be unavailable, so that no start waits for Redis. */
export function readyOrUnavailable(redis: Redis): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  // Between two attempts Redis counts as unavailable. A connection that is closed then emits no further event.
  if (isReady(redis) || redis.status === 'reconnecting' || redis.status === 'end') resolve()
  for (const event of ['ready', 'error', 'close', 'end']) redis.once(event, resolve)
  return promise
}

/**
 * The command that publishes. In a cluster PUBLISH goes to every node, and SPUBLISH only to the nodes of the channel's
 * slot. With a single Redis it is PUBLISH, because earlier versions of Parley subscribe only to that.
 */
export const publishCommand = ({ isCluster }: Redis) => (isCluster ? 'SPUBLISH' : 'PUBLISH')

/** Publishes a text on a channel, with the command that fits. @throws when Redis is unavailable. */
export function publish(redis: Redis, channel: string, text: string): Promise<unknown> {
  return redis.isCluster ? redis.spublish(channel, text) : redis.publish(channel, text)
}

interface ChannelOptions {
  /** A connection that is used for nothing else. */
  redis: Redis
  channel: string
  logger: Logger
  onMessage(text: string): void
  /** Called after each subscription, also after a reconnection. Messages that were published before it may be missed. */
  onFollowing?(): void
}

export interface Channel {
  /** Resolves once the channel is subscribed to, or Redis turns out to be unavailable. */
  begun(): Promise<void>
}

/** Subscribes to a channel each time the connection is ready. Call it directly after the connection is created. */
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
  // A cluster client subscribes again by itself when a slot has moved.
  if (redis.isCluster) redis.on('subscribersReady', () => onFollowing())
  return {
    async begun() {
      await readyOrUnavailable(redis)
      await latest
    },
  }
}
