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
  /** Ends the process in the same way; resolves once the one in its place serves. Rejects when the supervisor is stopped meanwhile. */
  replace(): Promise<void>
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
  let isWanted = false
  let serving = Promise.withResolvers<void>()

  async function keepRunning() {
    while (!stopping.signal.aborted) {
      child = spawnService(plan)
      child.once('message', serving.resolve)
      const begun = performance.now()
      if (!isFirst) say(`${plan.name} is running again (pid ${child.pid})`)
      const end = await endOf(child)
      if (stopping.signal.aborted) return

      failures = performance.now() - begun < soundLifeMs && !isWanted ? failures + 1 : 0
      isFirst = false
      if (!isWanted) say(`${plan.name} (pid ${child.pid}) has ended (${end}), starting it again`)
      isWanted = false
      const pauseMs = failures < 2 ? 0 : Math.min(100 * 2 ** failures, longestPauseMs)
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  const ended = keepRunning()

  /** SIGTERM, and after a while SIGKILL, to the process there is now. */
  function end() {
    const ending = child
    ending.kill('SIGTERM')
    const patience = setTimeout(() => ending.kill('SIGKILL'), stopPatienceMs)
    ending.once('exit', () => clearTimeout(patience))
  }

  return {
    async stop() {
      stopping.abort()
      end()
      await ended
    },
    async replace() {
      stopping.signal.throwIfAborted()
      isWanted = true
      serving = Promise.withResolvers()
      end()
      await Promise.race([serving.promise, ended])
      stopping.signal.throwIfAborted()
    },
  }
}

/**
 * Detached, so that Ctrl-C reaches the launcher alone, which then stops everything in its order; tied to the launcher by its
 * standard input, which closes however the launcher ends. It says over the channel when it listens (`runService`).
 */
function spawnService({ args, env }: ProcessPlan): ChildProcess {
  return spawn(process.execPath, args, { env, detached: true, stdio: ['pipe', 'inherit', 'inherit', 'ipc'] })
}

async function endOf(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = await once(child, 'exit')
    return signal ?? `code ${code}`
  } catch (error) {
    return (error as Error).message
  }
}
