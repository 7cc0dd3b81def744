import { setTimeout as delay } from 'node:timers/promises'

const patienceMs = 90_000

/** Waits until a service says that it can serve; a gateway says so when all behind it can. @throws Error with its last answer after 90 s, or when `signal` is aborted. */
export async function untilReady(address: string, signal: AbortSignal): Promise<void> {
  const until = performance.now() + patienceMs
  for (;;) {
    const answer = await ask(`${address}/health/ready`)
    if (answer === 'ready') return
    if (performance.now() > until) throw new Error(`${address} did not get ready. Its last answer: ${answer}`)
    // Often enough; what starts meanwhile needs the processor.
    await delay(200, undefined, { signal })
  }
}

async function ask(url: string): Promise<string> {
  try {
    const reply = await fetch(url, { signal: AbortSignal.timeout(3_000) })
    const text = await reply.text()
    return reply.status === 200 ? 'ready' : text
  } catch (error) {
    return (error as Error).message
  }
}
