import type { Logger } from '@parley/telemetry'
import { redisNames } from './keys.ts'
import { publish } from './redis.channel.ts'
import { openRedis, type RedisSettings } from './redis.client.ts'

export interface Waker {
  /** Tells the relay (and the feeder of jobs) that something was committed to the outbox. Costs next to nothing. */
  wake(): void
  close(): void
}

const quietMs = 5

/**
 * A hint, fire and forget: the first goes out at once, those of the next 5 ms together. It may get lost; the relay looks by
 * itself every 100 ms.
 */
export function createWaker(settings: RedisSettings, logger?: Logger): Waker {
  const redis = openRedis(settings, {
    connectionName: 'parley-waker',
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(100 * attempt, 2_000),
  })
  redis.on('error', (err) => logger?.debug({ err }, 'no hint can be sent to the relay'))
  const { wake: channel } = redisNames(settings)
  let quiet: NodeJS.Timeout | undefined
  let again = false

  const send = () => {
    if (redis.status === 'ready') publish(redis, channel, '').catch(() => {})
    quiet = setTimeout(() => {
      quiet = undefined
      if (again) send()
    }, quietMs)
    again = false
  }

  return {
    wake() {
      if (quiet) again = true
      else send()
    },
    close() {
      clearTimeout(quiet)
      redis.disconnect()
    },
  }
}
