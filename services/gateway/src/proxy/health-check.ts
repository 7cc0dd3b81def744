import { Client, errors } from 'undici'

const everyMs = 1_000
const patienceMs = 2_000
/** Times in a row without an answer after which nothing is expected of a replica any more. */
const missesForSilence = 2

export interface PulseOptions {
  origin: string
  /** The name a certificate must be for, where the origin is only its address. */
  host?: string | undefined
  /** It did not answer once, or did again: others should come first, or need not. */
  onChange(isAnswering: boolean): void
  /** It has not answered for a while though it lets one connect: what it was asked, it may never answer. */
  onSilence(): void
}

export interface Pulse {
  stop(): Promise<void>
}

/**
 * Asks a replica every second for a sign of life, on a connection of its own. One that hangs (frozen, cut off, out of memory)
 * takes connections and requests like any other; only its silence tells. One that refuses connections has ended or is about
 * to, and finishes or loses by itself what it was asked.
 */
export function feelPulse({ origin, host, onChange, onSilence }: PulseOptions): Pulse {
  const client = new Client(origin, {
    connect: { timeout: patienceMs, ...(host !== undefined && { servername: host }) },
    pipelining: 1,
  })
  const stopping = new AbortController()
  let isAnswering = true
  let misses = 0
  let asking: Promise<void> | undefined

  async function ask() {
    const answer = await isAlive(client, stopping.signal)
    if (stopping.signal.aborted) return
    if (isAnswering !== (answer === 'yes')) {
      isAnswering = !isAnswering
      onChange(isAnswering)
    }
    misses = answer === 'silence' ? misses + 1 : 0
    if (misses >= missesForSilence) onSilence()
  }

  const timer = setInterval(() => {
    asking ??= ask().finally(() => {
      asking = undefined
    })
  }, everyMs)
  timer.unref()

  return {
    async stop() {
      clearInterval(timer)
      stopping.abort()
      await asking
      await client.destroy()
    },
  }
}

/** Whatever it answers, it does answer. */
async function isAlive(client: Client, stop: AbortSignal): Promise<'yes' | 'no' | 'silence'> {
  const late = AbortSignal.timeout(patienceMs)
  try {
    const { body } = await client.request({
      path: '/health/live',
      method: 'GET',
      signal: AbortSignal.any([late, stop]),
    })
    await body.dump()
    return 'yes'
  } catch (error) {
    return late.aborted || error instanceof errors.ConnectTimeoutError ? 'silence' : 'no'
  }
}
