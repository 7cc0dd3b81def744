import type { Logger } from '@parley/telemetry'
import type { Redis } from 'ioredis'
import { readyOrAway } from './redis.connection.ts'

/**
 * The command that publishes. In a cluster a plain one goes to every node, a sharded one only to those that serve the slot of
 * the channel. One Redis keeps the plain one: versions before know no other.
 */
export const publishCommand = ({ isCluster }: Redis) => (isCluster ? 'SPUBLISH' : 'PUBLISH')

export function publish(redis: Redis, channel: string, text: string): Promise<unknown> {
  return redis.isCluster ? redis.spublish(channel, text) : redis.publish(channel, text)
}

export interface ChannelOptions {
  /** A connection that does nothing else. */
  redis: Redis
  channel: string
  logger: Logger
  onMessage(text: string): void
  /** It is followed now, for the first time or again: what was published before may have been missed. */
  onFollowing?(): void
}

export interface Channel {
  /** Resolves once it is followed, or Redis is found to be away. */
  begun(): Promise<void>
}

/** Follows a channel whenever Redis is there. To be called right after the connection was made. */
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
  // Each time anew, after a loss too. A cluster subscribes again by itself when a slot has moved, and says so.
  redis.on('ready', () => {
    latest = subscribe()
  })
  if (redis.isCluster) redis.on('subscribersReady', () => onFollowing())
  return {
    async begun() {
      await readyOrAway(redis)
      await latest
    },
  }
}
