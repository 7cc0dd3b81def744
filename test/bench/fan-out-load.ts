import { setTimeout as delay } from 'node:timers/promises'
import { Durations, type Sample, sampleOf } from './statistics.ts'
import type { StreamAudience } from './stream-audience.ts'

/** Publishes the event with this number; resolves when the receiving server has acknowledged it. */
export type Publish = (event: number) => Promise<unknown>

/** The number of the newest event. It is never reset, so no two measurements of a run use the same number. */
let numbers = 0

/**
 * Publishes for some seconds and keeps `inFlight` events under way. The next event follows as soon as one was
 * acknowledged and has arrived at every witness; with `untilAcknowledged`, as soon as one was acknowledged. Counts
 * deliveries from the first publish until every stream has every event.
 */
export async function measureDeliveries(
  streams: StreamAudience,
  load: { inFlight: number; seconds: number; publish: Publish; untilAcknowledged?: boolean },
): Promise<Sample> {
  const { inFlight, seconds, publish, untilAcknowledged = false } = load
  const end = performance.now() + seconds * 1000
  return measure(streams, async (send) => {
    const slot = async () => {
      while (performance.now() < end) {
        const { acknowledged, arrived } = send(publish)
        await (untilAcknowledged ? acknowledged : arrived)
      }
    }
    await Promise.all(Array.from({ length: inFlight }, slot))
  })
}

/**
 * Publishes at a steady pace, without waiting for earlier events, and measures how long each event takes to the
 * witnesses.
 */
export async function measureLatency(
  streams: StreamAudience,
  { perSecond, seconds, publish }: { perSecond: number; seconds: number; publish: Publish },
): Promise<Sample> {
  const begun = performance.now()
  return measure(streams, async (send) => {
    const sent: Promise<void>[] = []
    for (let event = 0; event < perSecond * seconds; event++) {
      await delay(Math.max(0, begun + (event * 1000) / perSecond - performance.now()))
      sent.push(send(publish).arrived)
    }
    await Promise.all(sent)
  })
}

interface Underway {
  sentAt: number
  /** Number of witnesses that have not received the event yet. */
  missing: number
  acknowledged: boolean
  arrived: () => void
}

const timeoutMs = 20_000

interface Sent {
  acknowledged: Promise<unknown>
  /** Acknowledged, and arrived at every witness. */
  arrived: Promise<void>
}

/** Waits until all that `work` sends has arrived. */
async function measure(
  streams: StreamAudience,
  work: (send: (publish: Publish) => Sent) => Promise<void>,
): Promise<Sample> {
  const latenciesMs = new Durations()
  const underway = new Map<number, Underway>()
  const arrivals = new Set<Promise<void>>()
  let events = 0

  streams.onArrival = (event, receivedAt) => {
    const waiting = underway.get(event)
    if (!waiting) return
    latenciesMs.add(receivedAt - waiting.sentAt)
    if (--waiting.missing === 0) waiting.arrived()
  }
  const send = (publish: Publish): Sent => {
    const event = ++numbers
    events++
    const { promise, resolve } = Promise.withResolvers<void>()
    const entry = { sentAt: performance.now(), missing: streams.witnesses, acknowledged: false, arrived: resolve }
    underway.set(event, entry)
    const acknowledged = publish(event).then(() => {
      entry.acknowledged = true
    })
    const arrived = Promise.all([acknowledged, promise]).then(() => {
      underway.delete(event)
      arrivals.delete(arrived)
    })
    arrivals.add(arrived)
    // The promise may reject before anything awaits it; without a handler that would end the process.
    arrived.catch(() => {})
    return { acknowledged, arrived }
  }

  const { settle } = streams.mark()
  const guard = watch(streams, underway)
  const begun = performance.now()
  try {
    await Promise.race([work(send).then(() => Promise.all(arrivals)), guard.failure])
    await settle()
  } finally {
    guard.end()
  }
  return sampleOf(events * streams.size, (performance.now() - begun) / 1000, latenciesMs)
}

/** Rejects `failure` when an event has not arrived in time, so the bench does not wait forever for a lost event. */
function watch(streams: StreamAudience, underway: Map<number, Underway>) {
  const { promise: failure, reject } = Promise.withResolvers<never>()
  failure.catch(() => {})
  const look = () => {
    try {
      streams.check()
      const now = performance.now()
      for (const [event, { sentAt, missing, acknowledged }] of underway) {
        if (now - sentAt < timeoutMs) continue
        throw new Error(`event ${event} did not come to ${missing} witnesses (acknowledged: ${acknowledged})`)
      }
    } catch (error) {
      reject(error)
    }
  }
  const timer = setInterval(look, 500)
  return {
    failure,
    end: () => clearInterval(timer),
  }
}
