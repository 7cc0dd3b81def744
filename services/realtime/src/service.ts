import { setTimeout as delay } from 'node:timers/promises'
import { createEphemeralFeed, createFeed, type Feed } from '@parley/events'
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
import { createKnownChannels } from './streams/known-channels.ts'
import { createOpenStreams, keepAlive } from './streams/open-streams.ts'
import { createSleepWatch } from './streams/sleep-watch.ts'
import { createSessionWatch, drain } from './streams/stream-endings.ts'

const memoryEvents = 10_000
/** The start waits for PostgreSQL for this time at most. After it the process is alive, but not ready. */
const timeoutMs = 2_000

/** The event streams of clients. Any node serves any client, and keeps no state that another node needs. */
export function realtime(deps: Deps): Service {
  const { config, db, pool, logger, metrics, clock } = deps
  /** The feed is created after the parts that read it, because it passes the events on to them. */
  const feed = (): Feed => events
  const channels = createKnownChannels({ db })
  const streams = createOpenStreams({
    ...config.events,
    metrics,
    channels,
    onCountChange: (userId) => slots.noteChange(userId),
  })
  const slots = createStreamSlots({ ...config.events, pool, streams, logger })
  const sessionWatch = createSessionWatch({ db, streams, clock, logger })
  const sleep = createSleepWatch(sessionWatch.endFinishedSessions)
  const presence = createPresenceUpdates({ ...config.events, pool, streams, sleep, logger, metrics })
  const entitlement = createEntitlement({ db, streams, channels })
  const fanOut = createFanOut({ streams, entitlement, sleep, feed, clock, logger, metrics })
  const waiting = observeWaiting({ db, metrics, position: fanOut.position })
  const resume = createResume({
    db,
    feed,
    fanOut,
    entitlement,
    streams,
    sleep,
    waiting,
    events: config.events,
    clock,
    logger,
  })
  const consumers = createConsumerStreams({ db, streams, logger })
  const events = createFeed({
    pool,
    redis: config.redis,
    logger,
    metrics,
    memoryEvents,
    memoryBytes: config.events.memoryBytes,
    onEvents: fanOut.receive,
    onReset(reason) {
      logger.warn({ reason, streams: streams.all.size }, 'a new order of events begins, all streams end')
      fanOut.reset()
      entitlement.forget()
      for (const stream of streams.all) streams.end(stream, 'reset')
    },
  })
  const ephemeral = createEphemeralFeed({
    redis: config.redis,
    logger,
    onEvent: createEphemeralDelivery({ streams, entitlement, sleep, logger }).deliver,
  })
  let stopKeepAlive = () => {}
  let beginning: Promise<void> | undefined
  let hasBegun = false
  let closing = false

  /** Waits for PostgreSQL and its schema, because no stream can be opened before the position is known at which events begin. */
  async function begin() {
    await events.start()
    if (closing) return
    await ephemeral.start()
    await slots.start()
    await presence.start()
    sessionWatch.start()
    sleep.start()
    consumers.start()
    stopKeepAlive = keepAlive(streams, config.events.keepAliveSeconds, sleep.isAwake)
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
      await app.register(
        streamRoutes(deps, {
          streams,
          slots,
          channels,
          entitlement,
          fanOut,
          resume,
          consumers,
          sleep,
          feed,
          hasBegun: () => hasBegun,
          isClosing: () => closing,
        }),
      )
      await app.register(consumerRoutes(deps))
      app.addHook('preClose', async () => {
        closing = true
        await drain(streams, config.events.drainSeconds)
      })
    },
    async start() {
      beginning = begin()
      await Promise.race([beginning, delay(timeoutMs, undefined, { ref: false })])
    },
    async stop() {
      // The feed closes first. Otherwise it would pass on more events after the reset, and these would wait for
      // PostgreSQL again.
      const followed = events.close()
      fanOut.reset()
      ephemeral.close()
      await beginning
      stopKeepAlive()
      sessionWatch.stop()
      sleep.stop()
      consumers.stop()
      streams.stopObserving()
      waiting.stop()
      await Promise.all([followed, presence.stop(), slots.stop()])
    },
  }
}
