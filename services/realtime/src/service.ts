import { setTimeout as delay } from 'node:timers/promises'
import { createEphemeralFeed, createFeed } from '@parley/events'
import type { Deps, Service } from '@parley/service'
import { createConsumerStreams } from './consumers/consumer-streams.ts'
import { consumerRoutes } from './consumers/consumers.routes.ts'
import { observeWaiting } from './delivery/delivery-metrics.ts'
import { createEntitlement } from './delivery/entitlement.ts'
import { createEphemeralDelivery } from './delivery/ephemeral-delivery.ts'
import { createFanOut } from './delivery/fan-out.ts'
import { createResume } from './delivery/resume.ts'
import { streamRoutes } from './events/events.routes.ts'
import { createPresenceUpdates } from './presence/presence-updates.ts'
import { createStreamSlots } from './presence/stream-slots.ts'
import { createKeepAlive } from './streams/keep-alive.ts'
import { createKnownChannels } from './streams/known-channels.ts'
import { createOpenStreams } from './streams/open-streams.ts'
import { createSleepWatch } from './streams/sleep-watch.ts'
import { createSessionWatch, drain } from './streams/stream-endings.ts'

const memoryEvents = 10_000
/** The start waits for PostgreSQL for this time at most. After it the process is alive, but not ready. */
const timeoutMs = 2_000

/** The event streams of clients. Any node serves any client, and keeps no state that another node needs. */
export function realtime(deps: Deps): Service {
  const parts = createParts(deps)
  const { streams, slots, sessionWatch, sleep, consumers, fanOut, feed, ephemeral, presence, keepAlive } = parts
  /** What works regularly, in the order in which it starts. */
  const regular = [slots, presence, sessionWatch, sleep, consumers, keepAlive]
  let beginning: Promise<void> | undefined
  let hasBegun = false
  let isClosing = false

  /** Waits for PostgreSQL and its schema, because no stream can be opened before the position is known at which events begin. */
  async function begin() {
    await feed.start()
    if (isClosing) return
    await ephemeral.start()
    for (const part of regular) await part.start()
    hasBegun = true
  }

  return {
    filesPerStream: 1,
    checks: {
      events: {
        required: true,
        async run() {
          if (!hasBegun) throw new Error('the position at which events begin is not known yet')
        },
      },
    },
    async plugin(app) {
      await app.register(streamRoutes(deps, { ...parts, hasBegun: () => hasBegun, isClosing: () => isClosing }))
      await app.register(consumerRoutes(deps))
      app.addHook('preClose', async () => {
        isClosing = true
        await drain(streams, deps.config.events.drainSeconds)
      })
    },
    async start() {
      beginning = begin()
      await Promise.race([beginning, delay(timeoutMs, undefined, { ref: false })])
    },
    async stop() {
      // The feed closes first. Otherwise it would pass on more events after the reset, and these would wait for
      // PostgreSQL again.
      const feedClosed = feed.close()
      fanOut.reset()
      ephemeral.close()
      await beginning
      parts.stopMeasuring()
      await Promise.all([feedClosed, ...regular.map((part) => part.stop())])
    },
  }
}

/** Creates the parts, each after the parts that it needs. Only `streams` and `fanOut` get a function that uses a later part. */
function createParts({ config, db, pool, logger, metrics, clock }: Deps) {
  const { events } = config
  // What this node knows: its streams, the channels of their people, and who receives which event.
  const channels = createKnownChannels({ db })
  const onCountChange = (userId: string) => slots.noteChange(userId)
  const streams = createOpenStreams({ ...events, metrics, channels, onCountChange })
  const slots = createStreamSlots({ ...events, pool, streams, logger })
  const entitlement = createEntitlement({ db, streams, channels })

  // What ends streams that must not continue.
  const sessionWatch = createSessionWatch({ db, streams, clock, logger })
  const sleep = createSleepWatch(sessionWatch.endFinishedSessions)
  const consumers = createConsumerStreams({ db, streams, logger })

  // What writes to streams. The feed passes stored events to the fan-out, and the fan-out reads the position of the feed.
  const fanOut = createFanOut({ streams, entitlement, sleep, feed: () => feed, clock, logger, metrics })
  const feed = createFeed({
    pool,
    redis: config.redis,
    logger,
    metrics,
    memoryEvents,
    memoryBytes: events.memoryBytes,
    onEvents: fanOut.receive,
    onReset(reason) {
      logger.warn({ reason, streams: streams.all.size }, 'a new order of events begins, all streams end')
      fanOut.reset()
      entitlement.forget()
      for (const stream of streams.all) streams.end(stream, 'reset')
    },
  })
  const waiting = observeWaiting({ db, metrics, position: fanOut.position })
  const resume = createResume({ db, feed, fanOut, entitlement, streams, sleep, waiting, events, clock, logger })
  const { deliver } = createEphemeralDelivery({ streams, entitlement, sleep, logger })
  const ephemeral = createEphemeralFeed({ redis: config.redis, logger, onEvent: deliver })
  const presence = createPresenceUpdates({ ...events, pool, streams, sleep, logger, metrics })
  const keepAlive = createKeepAlive({ streams, sleep, seconds: events.keepAliveSeconds })

  return {
    channels,
    streams,
    slots,
    entitlement,
    sessionWatch,
    sleep,
    consumers,
    fanOut,
    feed,
    resume,
    ephemeral,
    presence,
    keepAlive,
    stopMeasuring() {
      streams.stopObserving()
      waiting.stop()
    },
  }
}
