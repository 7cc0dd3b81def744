import type { EventType, Routing } from '@parley/contract'
import type { RecordedEvent } from '@parley/database'
import { connectRedis, followChannel, isReady, publish, type RedisSettings, redisNames } from '@parley/redis'
import { type Logger, type Metrics, metric } from '@parley/telemetry'

/** An event without a position. It is never stored and never replayed. */
export interface EphemeralEvent {
  routing: Routing
  /** JSON of a `WireEvent`. */
  event: string
}

export interface EphemeralPublisher {
  /**
   * Sends an event to the streams that are open now. It never fails: while Redis is unavailable, the event is dropped
   * and counted.
   */
  publish<T extends EventType>(event: RecordedEvent<T>): void
  close(): void
}

interface EphemeralOptions {
  redis: RedisSettings
  logger: Logger
}

/** Publishes events that matter only at this moment, such as typing. */
export function createEphemeralPublisher({
  redis: settings,
  logger,
  metrics,
}: EphemeralOptions & { metrics: Metrics }): EphemeralPublisher {
  const redis = connectRedis({ settings, name: 'parley-ephemeral', logger })
  const { ephemeral: channel } = redisNames(settings)
  const dropped = metrics.counter(metric.ephemeralDropped).with()

  return {
    publish({ type, payload, routing }) {
      if (!isReady(redis)) return dropped.add()
      const text = `${JSON.stringify(routing)}\t${JSON.stringify({ type, payload })}`
      publish(redis, channel, text).catch(() => dropped.add())
    },
    close: () => redis.disconnect(),
  }
}

interface EphemeralFeed {
  /** Resolves once it is subscribed, or Redis turns out to be unavailable. It reconnects by itself. */
  start(): Promise<void>
  close(): void
}

/** Receives the ephemeral events of all processes. Events that are published while Redis is unavailable are lost. */
export function createEphemeralFeed({
  redis: settings,
  logger,
  onEvent,
}: EphemeralOptions & { onEvent: (event: EphemeralEvent) => void }): EphemeralFeed {
  const subscriber = connectRedis({ settings, name: 'parley-ephemeral-subscriber', logger })
  const channel = followChannel({
    redis: subscriber,
    channel: redisNames(settings).ephemeral,
    logger,
    onMessage(text) {
      const end = text.indexOf('\t')
      try {
        onEvent({ routing: JSON.parse(text.slice(0, end)), event: text.slice(end + 1) })
      } catch (err) {
        logger.warn({ err }, 'an ephemeral event could not be processed')
      }
    },
  })

  return {
    start: channel.begun,
    close: () => subscriber.disconnect(),
  }
}
