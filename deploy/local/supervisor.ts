import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { ProcessPlan } from './plan.ts'

/** A life shorter than this counts as a failed start. */
const soundLifeMs = 10_000
const longestPauseMs = 5_000
const stopPatienceMs = 2_500

export interface Supervised {
  /** SIGTERM, and SIGKILL for what does not end within 2.5 s. */
  stop(): Promise<void>
}

/**
 * Keeps a process running: one that ends is said so and started again, at once after a sound life and with growing pauses
 * when it ends soon after its start.
 */
export function supervise(plan: ProcessPlan, say: (line: string) => void): Supervised {
  const stopping = new AbortController()
  let child: ChildProcess
  let failures = 0
  let isFirst = true

  async function keepRunning() {
    while (!stopping.signal.aborted) {
      child = spawnService(plan)
      const begun = performance.now()
      if (!isFirst) say(`${plan.name} is running again (pid ${child.pid})`)
      const end = await endOf(child)
      if (stopping.signal.aborted) return

      failures = performance.now() - begun < soundLifeMs ? failures + 1 : 0
      isFirst = false
      say(`${plan.name} (pid ${child.pid}) has ended (${end}), starting it again`)
      const pauseMs = failures < 2 ? 0 : Math.min(100 * 2 ** failures, longestPauseMs)
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  const ended = keepRunning()

  return {
    async stop() {
      stopping.abort()
      child.kill('SIGTERM')
      const patience = setTimeout(() => child.kill('SIGKILL'), stopPatienceMs)
      await ended
      clearTimeout(patience)
    },
  }
}

/**
 * Detached, so that Ctrl-C reaches the launcher alone, which then stops everything in its order; tied to the launcher by its
 * standard input, which closes however the launcher ends.
 */
function spawnService({ args, env }: ProcessPlan): ChildProcess {
  return spawn(process.execPath, args, { env, detached: true, stdio: ['pipe', 'inherit', 'inherit'] })
}

async function endOf(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = await once(child, 'exit')
    return signal ?? `code ${code}`
  } catch (error) {
    return (error as Error).message
  }
}
