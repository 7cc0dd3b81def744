import { setTimeout as delay } from 'node:timers/promises'
import { type Sample, sampleOf } from './statistics.ts'
import type { StreamAudience } from './stream-audience.ts'

/** Publishes the event with this number; resolves once whoever takes it has said so. */
export type Publish = (event: number) => Promise<unknown>

/** Never the same number twice, whatever is measured in a run. */
let numbers = 0

/**
 * Publishes for a while with so many events under way: the next one as soon as one was acknowledged and has arrived at
 * every witness. Counts deliveries from the first publish until every stream has everything.
 */
export async function measureDeliveries(
  streams: StreamAudience,
  { inFlight, seconds, publish }: { inFlight: number; seconds: number; publish: Publish },
): Promise<Sample> {
  const end = performance.now() + seconds * 1000
  return measure(streams, async (send) => {
    const slot = async () => {
      while (performance.now() < end) await send(publish)
    }
    await Promise.all(Array.from({ length: inFlight }, slot))
  })
}

/** Publishes at a steady pace, whatever becomes of it, and tells how long the events took to the witnesses. */
export async function measureLatency(
  streams: StreamAudience,
  { perSecond, seconds, publish }: { perSecond: number; seconds: number; publish: Publish },
): Promise<Sample> {
  const begun = performance.now()
  return measure(streams, async (send) => {
    const sent: Promise<void>[] = []
    for (let event = 0; event < perSecond * seconds; event++) {
      await delay(Math.max(0, begun + (event * 1000) / perSecond - performance.now()))
      const each = send(publish)
      // Looked at in the end: until then its failure is no surprise.
      each.catch(() => {})
      sent.push(each)
    }
    await Promise.all(sent)
  })
}

interface Underway {
  sentAt: number
  /** Witnesses that have not seen it yet. */
  missing: number
  acknowledged: boolean
  arrived: () => void
}

const patienceMs = 20_000

/** `send` publishes one event and resolves once it was acknowledged and has arrived at every witness. */
async function measure(
  streams: StreamAudience,
  work: (send: (publish: Publish) => Promise<void>) => Promise<void>,
): Promise<Sample> {
  const latenciesMs: number[] = []
  const underway = new Map<number, Underway>()
  let events = 0

  streams.onArrival = (event) => {
    const waiting = underway.get(event)
    if (!waiting) return
    latenciesMs.push(performance.now() - waiting.sentAt)
    if (--waiting.missing === 0) waiting.arrived()
  }
  const send = async (publish: Publish) => {
    const event = ++numbers
    events++
    const { promise, resolve } = Promise.withResolvers<void>()
    const entry = { sentAt: performance.now(), missing: streams.witnesses, acknowledged: false, arrived: resolve }
    underway.set(event, entry)
    await publish(event)
    entry.acknowledged = true
    await promise
    underway.delete(event)
  }

  const { settle } = streams.mark()
  const guard = watch(streams, underway)
  const begun = performance.now()
  try {
    await Promise.race([work(send), guard.failure])
    await settle()
  } finally {
    guard.end()
  }
  return sampleOf(events * streams.size, (performance.now() - begun) / 1000, latenciesMs)
}

/** Nobody waits forever for an event that was lost. */
function watch(streams: StreamAudience, underway: Map<number, Underway>) {
  const { promise: failure, reject } = Promise.withResolvers<never>()
  failure.catch(() => {})
  const look = () => {
    try {
      streams.check()
      const now = performance.now()
      for (const [event, { sentAt, missing, acknowledged }] of underway) {
        if (now - sentAt < patienceMs) continue
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
