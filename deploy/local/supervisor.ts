import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { ProcessPlan } from './cluster-plan.ts'

/** A process that ends sooner counts as a failed start. */
const shortestRunMs = 10_000
const longestPauseMs = 5_000
const stopTimeoutMs = 2_500

export interface Supervised {
  /** Sends SIGTERM, and SIGKILL after 2.5 s. */
  stop(): Promise<void>
  /**
   * Ends the process in the same way. Resolves when the new process listens. @throws when the supervisor is stopped
   * meanwhile.
   */
  replace(): Promise<void>
}

/** Starts a process and restarts it when it ends, with growing pauses when it ends soon after its start. */
export function supervise(plan: ProcessPlan, say: (line: string) => void): Supervised {
  const stopping = new AbortController()
  let child: ChildProcess
  let failures = 0
  let isFirst = true
  /** Whether somebody asked for the end of the current process. */
  let isRequested = false
  let serving = Promise.withResolvers<void>()

  async function keepRunning() {
    while (!stopping.signal.aborted) {
      isRequested = false
      child = spawnService(plan)
      child.once('message', serving.resolve)
      const begun = performance.now()
      if (!isFirst) say(`${plan.name} is running again (pid ${child.pid})`)
      const end = await endOf(child)
      if (stopping.signal.aborted) return

      failures = performance.now() - begun < shortestRunMs && !isRequested ? failures + 1 : 0
      isFirst = false
      if (!isRequested) say(`${plan.name} (pid ${child.pid}) has ended (${end}), starting it again`)
      const pauseMs = failures < 2 ? 0 : Math.min(100 * 2 ** failures, longestPauseMs)
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  const ended = keepRunning()

  /** Ends the current process. */
  function end() {
    const ending = child
    ending.kill('SIGTERM')
    const killTimer = setTimeout(() => ending.kill('SIGKILL'), stopTimeoutMs)
    ending.once('exit', () => clearTimeout(killTimer))
  }

  return {
    async stop() {
      stopping.abort()
      end()
      await ended
    },
    async replace() {
      stopping.signal.throwIfAborted()
      isRequested = true
      serving = Promise.withResolvers()
      end()
      await Promise.race([serving.promise, ended])
      stopping.signal.throwIfAborted()
    },
  }
}

/**
 * The process is detached, so that Ctrl-C reaches only the launcher, which stops all processes in order. Its standard
 * input closes when the launcher ends, even if the launcher is killed (`end-with-launcher.ts`). It sends a message over
 * the IPC channel when it listens (`runService`).
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

const readyTimeoutMs = 90_000

/**
 * Waits until a service is ready. A gateway is ready when all services behind it are.
 * @throws Error with its last response after 90 s, or when `signal` is aborted.
 */
export async function untilReady(address: string, signal: AbortSignal): Promise<void> {
  const until = performance.now() + readyTimeoutMs
  for (;;) {
    const readiness = await askReadiness(`${address}/health/ready`)
    if (readiness === 'ready') return
    if (performance.now() > until) throw new Error(`${address} is not ready. Its last response: ${readiness}`)
    // More frequent requests would take processor time from the starting processes.
    await delay(200, undefined, { signal })
  }
}

/** `ready`, or the reason why the service is not. */
async function askReadiness(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(3_000) })
    const text = await response.text()
    return response.status === 200 ? 'ready' : text
  } catch (error) {
    return (error as Error).message
  }
}
