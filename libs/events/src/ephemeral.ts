import type { EventType, Routing } from '@parley/contract'
import type { RecordedEvent } from '@parley/database'
import { type Logger, type Metrics, metric } from '@parley/telemetry'
import { redisNames } from './keys.ts'
import { followChannel, publish } from './redis.channel.ts'
import type { RedisSettings } from './redis.client.ts'
import { connectRedis, isReady } from './redis.connection.ts'

/** An event that only matters now: it has no position, is never stored and never repeated. */
export interface EphemeralEvent {
  routing: Routing
  /** JSON of a `WireEvent`. */
  event: string
}

export interface EphemeralPublisher {
  /** Sends an event to the streams that are open now. Never fails: while Redis is away it is dropped, and counted. */
  publish<T extends EventType>(event: RecordedEvent<T>): void
  close(): void
}

export interface EphemeralOptions {
  redis: RedisSettings
  logger: Logger
}

/** What somebody does who wants others to know of it only while it lasts, such as typing. */
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

export interface EphemeralFeed {
  /** Resolves once events are followed or Redis is found to be away; it is found again by itself. */
  start(): Promise<void>
  close(): void
}

/** Hands on the ephemeral events of all processes, as they come. Those while Redis is away are lost. */
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
        logger.warn({ err }, 'an ephemeral event could not be handed on')
      }
    },
  })

  return {
    start: channel.begun,
    close: () => subscriber.disconnect(),
  }
}
