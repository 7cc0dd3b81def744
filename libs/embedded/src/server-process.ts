import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile, rename, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

export interface ServerExit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** A PostgreSQL or Redis that Parley starts for itself. */
export interface EmbeddedServer {
  /** The URL with user, password and port. `restart()` does not change it. */
  readonly url: string
  /** The process id. `restart()` changes it. */
  readonly pid: number
  readonly logFile: string
  /** Stops the server gracefully, or kills it after 10 s. Idempotent. */
  stop(): Promise<void>
  /** Sends a signal, for fault tests. */
  kill(signal: NodeJS.Signals): void
  /**
   * Stops the server gracefully if it runs, and starts it on the same port with the same data. @throws Error when the
   * port is in use.
   */
  restart(): Promise<void>
  /** Calls `callback` when the server ends without `stop()` or `restart()`. Returns a function that unsubscribes. */
  onExit(callback: (exit: ServerExit) => void): () => void
}

/**
 * The result of a test sign-in. `ready`: it succeeded. `starting`: the server does not accept sign-ins yet. `silent`:
 * nothing answers. `refused`: the server refuses the password.
 */
export type Probe = 'ready' | 'starting' | 'silent' | 'refused'

export interface ServerPlan {
  name: string
  url: string
  command: string
  args: string[]
  env: Record<string, string>
  owner?: { uid: number; gid: number }
  logFile: string
  /** The signals that stop it, in order. After each one it has `timeoutMs` to end before the next one is sent. */
  ending: readonly { signal: NodeJS.Signals; timeoutMs: number }[]
  /** Called before each start. Ends processes and removes files that a killed predecessor left. */
  prepare(): Promise<void>
  /** Signs in to the server on this port. */
  probe(): Promise<Probe>
}

const maxLogBytes = 16 * 1024 * 1024
const startTimeoutMs = 120_000
const retryTimeoutMs = 15_000

/**
 * Starts the program in a process group of its own, so that Ctrl-C in the terminal reaches only the services, and waits
 * until it accepts our password.
 * @throws Error with the end of its log when it does not.
 */
export async function startServer(plan: ServerPlan): Promise<EmbeddedServer> {
  const watchers = new Set<(exit: ServerExit) => void>()
  const endedOnRequest = new WeakSet<ChildProcess>()
  let child = await startChild()
  let turn: Promise<void> = Promise.resolve()

  async function startChild(): Promise<ChildProcess> {
    const started = await startUntilReady(plan)
    started.once('exit', (code, signal) => {
      if (!endedOnRequest.has(started)) for (const watcher of watchers) watcher({ code, signal })
    })
    return started
  }

  // These run one after the other, because a restart must not run during a stop.
  const inTurn = (work: () => Promise<void>) => {
    turn = turn.then(work, work)
    return turn
  }
  const end = () => {
    endedOnRequest.add(child)
    return endChild(plan, child)
  }

  return {
    url: plan.url,
    logFile: plan.logFile,
    get pid() {
      return child.pid!
    },
    stop: () => inTurn(end),
    kill: (signal) => void child.kill(signal),
    restart: () =>
      inTurn(async () => {
        await end()
        child = await startChild()
      }),
    onExit: (callback) => {
      watchers.add(callback)
      return () => watchers.delete(callback)
    },
  }
}

/**
 * Starts a program, and again for some seconds while it ends at once. After a `kill -9` PostgreSQL refuses to start
 * until the last orphan of the killed server has released the shared memory.
 */
async function startUntilReady(plan: ServerPlan): Promise<ChildProcess> {
  const begun = performance.now()
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, 1_000)) {
    await plan.prepare()
    const child = await spawnDetached(plan)
    try {
      if (await becomesReady(plan, child)) {
        child.unref()
        return child
      }
    } catch (error) {
      await endChild(plan, child)
      throw error
    }
    if (performance.now() - begun > retryTimeoutMs) {
      throw new Error(`${plan.name} does not start. The end of ${plan.logFile}:\n${await lastLines(plan.logFile)}`)
    }
    await delay(pauseMs)
  }
}

async function spawnDetached(plan: ServerPlan): Promise<ChildProcess> {
  if (await isLong(plan.logFile)) await rename(plan.logFile, `${plan.logFile}.1`)
  const log = await open(plan.logFile, 'a', 0o600)
  try {
    const child = spawn(plan.command, plan.args, {
      detached: true,
      cwd: '/',
      env: plan.env,
      stdio: ['ignore', log.fd, log.fd],
      ...plan.owner,
    })
    await once(child, 'spawn')
    return child
  } finally {
    await log.close()
  }
}

/**
 * Waits until the program is ready; false when it ended. It waits while the program is starting, because recovery after
 * a crash takes long.
 */
async function becomesReady(plan: ServerPlan, child: ChildProcess): Promise<boolean> {
  const until = performance.now() + startTimeoutMs
  while (performance.now() < until) {
    const answer = await plan.probe()
    if (hasEnded(child)) return false
    if (answer === 'ready') return true
    if (answer === 'refused')
      throw new Error(`${plan.name} refuses the password that is stored beside its data (${plan.logFile})`)
    await delay(20)
  }
  throw new Error(`${plan.name} was not ready in time. The end of ${plan.logFile}:\n${await lastLines(plan.logFile)}`)
}

async function endChild(plan: ServerPlan, child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  child.ref()
  const ended = once(child, 'exit')
  // A process stopped by SIGSTOP handles other signals only after SIGCONT.
  child.kill('SIGCONT')
  for (const { signal, timeoutMs } of plan.ending) {
    child.kill(signal)
    const timeLimit = new AbortController()
    const inTime = await Promise.race([
      ended.then(() => true),
      delay(timeoutMs, false, { signal: timeLimit.signal }).catch(() => false),
    ])
    timeLimit.abort()
    if (inTime) return
  }
  child.kill('SIGKILL')
  await ended
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

const isLong = (file: string) =>
  stat(file).then(
    ({ size }) => size > maxLogBytes,
    () => false,
  )

const lastLines = async (file: string) =>
  (await readFile(file, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-8).join('\n')
