import { openRedis, publish, type RedisSettings, redisNames } from '@parley/redis'
import type { Logger } from '@parley/telemetry'

/** Wakes the caller that waits, or the next one. Several calls of `ring` before a `wait` count as one. */
export interface Signal {
  ring(): void
  /** Resolves at the next `ring`, at once when there was one since the last `wait`, and after `ms` at the latest. */
  wait(ms: number): Promise<void>
}

/** A signal within one process, for one caller that waits at a time. */
export function createSignal(): Signal {
  let rung = false
  let wake: (() => void) | undefined

  return {
    ring() {
      rung = true
      wake?.()
    },
    async wait(ms) {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
        wake = undefined
      }
      rung = false
    },
  }
}

interface Waker {
  /** Sends a hint to the relay and the job workers that something was committed. It is very cheap. */
  wake(): void
  close(): void
}

const quietMs = 10

/**
 * The first hint is published at once, and those of the next 10 ms together. A hint may get lost, because the relay
 * also polls every 100 ms.
 */
export function createWaker(settings: RedisSettings, logger?: Logger): Waker {
  const redis = openRedis(settings, {
    connectionName: 'parley-waker',
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (tries) => Math.min(100 * tries, 2_000),
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
