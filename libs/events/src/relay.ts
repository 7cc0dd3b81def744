import { setTimeout as delay } from 'node:timers/promises'
import { metric } from '@parley/telemetry'
import { redisNames } from './keys.ts'
import { followChannel } from './redis.channel.ts'
import { connectRedis } from './redis.connection.ts'
import { acquireLease } from './relay.lease.ts'
import { lead, type RelayOptions } from './relay.turn.ts'
import { createSignal } from './signal.ts'

export interface Relay {
  /** Becomes a candidate, and leads whenever nobody else does, until stopped. */
  start(): void
  /** Ends the turn, if it is ours, after the step under way, and gives the lease back at once. */
  stop(): Promise<void>
  /** Hint that something was committed; for those who share the process. */
  wake(): void
  readonly isLeader: boolean
}

const candidateMs = 500

/** Gives the events of the outbox their one order and moves them to Redis. Any number of candidates, one leader. */
export function createRelay(options: RelayOptions): Relay {
  const { pool, redis: settings, logger, metrics, holder } = options
  const names = redisNames(settings)
  const signal = createSignal()
  const stopping = new AbortController()
  let isLeader = false
  let end = async () => {}

  async function campaign(redis: ReturnType<typeof connectRedis>) {
    while (!stopping.signal.aborted) {
      try {
        const term = await acquireLease(pool, holder)
        if (term) {
          isLeader = true
          const { token, epoch, pos } = term
          if (term.isNewEpoch) logger.warn({ epoch, pos }, 'PostgreSQL was restored or promoted, a new epoch begins')
          logger.info({ token, epoch, pos }, 'leads the relay')
          await lead({ ...options, redis, names, term, signal, stopping: stopping.signal })
          if (!stopping.signal.aborted) logger.warn({ token: term.token }, 'no longer leads the relay')
        }
      } catch (err) {
        if (!stopping.signal.aborted) logger.warn({ err }, 'the relay cannot work')
      }
      isLeader = false
      // No hint shortens this: candidates would ask for the lease hundreds of times a second.
      await delay(candidateMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  return {
    start() {
      const redis = connectRedis({ settings, name: 'parley-relay', logger })
      const hints = connectRedis({ settings, name: 'parley-relay-hints', logger })
      followChannel({ redis: hints, channel: names.wake, logger, onMessage: signal.ring })
      const endObservation = metrics.gauge(metric.relayLeader, () => (isLeader ? 1 : 0))
      const done = campaign(redis)
      end = async () => {
        await done
        redis.disconnect()
        hints.disconnect()
        endObservation()
      }
    },
    async stop() {
      stopping.abort()
      signal.ring()
      await end()
    },
    wake: signal.ring,
    get isLeader() {
      return isLeader
    },
  }
}
