import { setTimeout as delay } from 'node:timers/promises'
import { createEphemeralFeed, createFeed, type Feed } from '@parley/events'
import type { Deps, Service } from '@parley/service'
import { createConnections } from './connections.ts'
import { drain } from './drain.ts'
import { createEntitlement } from './entitlement.ts'
import { createEphemeralDelivery } from './ephemeral.ts'
import { createFanOut } from './fan-out.ts'
import { keepAlive } from './keep-alive.ts'
import { createPlaces } from './presence/places.ts'
import { createPresence } from './presence/presence.ts'
import { createResume } from './resume.ts'
import { createSessionWatch } from './session-watch.ts'
import { streamRoutes } from './stream.routes.ts'
import { observeWaiting } from './waiting.ts'

const memoryEvents = 10_000
/** A start waits no longer for PostgreSQL: then the process is alive, and not ready. */
const patienceMs = 2_000

/** The event streams of clients: any node serves anyone, and keeps nothing that another node would need. */
export function realtime(deps: Deps): Service {
  const { config, db, pool, logger, metrics, clock } = deps
  const feed = (): Feed => events
  const connections = createConnections({ ...config.events, metrics, onCount: (userId) => places.count(userId) })
  const places = createPlaces({ ...config.events, pool, connections, logger })
  const presence = createPresence({ ...config.events, pool, connections, logger, metrics })
  const entitlement = createEntitlement({ db, connections })
  const fanOut = createFanOut({ connections, entitlement, feed, clock, logger, metrics })
  const waiting = observeWaiting({ db, metrics, position: fanOut.position })
  const resume = createResume({
    db,
    feed,
    fanOut,
    entitlement,
    connections,
    waiting,
    events: config.events,
    clock,
    logger,
  })
  const sessionWatch = createSessionWatch({ db, connections, clock, logger })
  const events = createFeed({
    pool,
    redis: config.redis,
    logger,
    metrics,
    memoryEvents,
    memoryBytes: config.events.memoryBytes,
    onEvents: fanOut.receive,
    onReset(reason) {
      logger.warn({ reason, streams: connections.all.size }, 'the order of events begins anew, all streams end')
      fanOut.reset()
      entitlement.forget()
      for (const connection of connections.all) connections.end(connection, 'reset')
    },
  })
  const ephemeral = createEphemeralFeed({
    redis: config.redis,
    logger,
    onEvent: createEphemeralDelivery({ connections, entitlement, logger }).deliver,
  })
  let stopKeepAlive = () => {}
  let beginning: Promise<void> | undefined
  let hasBegun = false
  let closing = false

  /** Waits for PostgreSQL and its schema: without the place where events begin no stream can be opened. */
  async function begin() {
    await events.start()
    if (closing) return
    await ephemeral.start()
    await places.start()
    await presence.start()
    sessionWatch.start()
    stopKeepAlive = keepAlive(connections, config.events.keepAliveSeconds)
    hasBegun = true
  }

  return {
    filesPerStream: 1,
    checks: {
      events: {
        required: true,
        async run() {
          if (!hasBegun) throw new Error('where events begin is not known yet')
        },
      },
    },
    async plugin(app) {
      await app.register(
        streamRoutes(deps, {
          connections,
          places,
          entitlement,
          fanOut,
          resume,
          feed,
          hasBegun: () => hasBegun,
          isClosing: () => closing,
        }),
      )
      app.addHook('preClose', async () => {
        closing = true
        await drain(connections, config.events.drainSeconds)
      })
    },
    async start() {
      beginning = begin()
      await Promise.race([beginning, delay(patienceMs, undefined, { ref: false })])
    },
    async stop() {
      // In this order: what is let go while it waits for PostgreSQL would otherwise make room for the next to wait.
      const followed = events.close()
      fanOut.reset()
      ephemeral.close()
      await beginning
      stopKeepAlive()
      sessionWatch.stop()
      connections.stopObserving()
      waiting.stop()
      await Promise.all([followed, presence.stop(), places.stop()])
    },
  }
}
