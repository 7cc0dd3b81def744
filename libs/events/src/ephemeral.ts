import type { EventType, Routing } from '@parley/contract'
import type { RecordedEvent } from '@parley/database'
import { type Logger, type Metrics, metric } from '@parley/telemetry'
import { ephemeralChannel } from './keys.ts'
import { connectRedis, isReady, readyOrAway } from './redis.connection.ts'

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
  redisUrl: string
  logger: Logger
}

/** What somebody does who wants others to know of it only while it lasts, such as typing. */
export function createEphemeralPublisher({
  redisUrl,
  logger,
  metrics,
}: EphemeralOptions & { metrics: Metrics }): EphemeralPublisher {
  const redis = connectRedis({ url: redisUrl, name: 'parley-ephemeral', logger })
  const dropped = metrics.counter(metric.ephemeralDropped).with()

  return {
    publish({ type, payload, routing }) {
      if (!isReady(redis)) return dropped.add()
      const text = `${JSON.stringify(routing)}\t${JSON.stringify({ type, payload })}`
      redis.publish(ephemeralChannel, text).catch(() => dropped.add())
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
  redisUrl,
  logger,
  onEvent,
}: EphemeralOptions & { onEvent: (event: EphemeralEvent) => void }): EphemeralFeed {
  const subscriber = connectRedis({ url: redisUrl, name: 'parley-ephemeral-subscriber', logger })
  let subscribing: Promise<unknown> | undefined
  subscriber.on('ready', () => {
    subscribing = subscriber
      .subscribe(ephemeralChannel)
      .catch((err) => logger.debug({ err }, 'could not subscribe, will try again'))
  })
  subscriber.on('message', (_channel, text) => {
    const end = text.indexOf('\t')
    try {
      onEvent({ routing: JSON.parse(text.slice(0, end)), event: text.slice(end + 1) })
    } catch (err) {
      logger.warn({ err }, 'an ephemeral event could not be handed on')
    }
  })

  return {
    async start() {
      await readyOrAway(subscriber)
      await subscribing
    },
    close: () => subscriber.disconnect(),
  }
}
