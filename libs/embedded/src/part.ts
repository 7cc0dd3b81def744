import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile, rename, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

export interface PartExit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** A server of our own that runs beside the services: PostgreSQL or Redis. */
export interface EmbeddedPart {
  /** With user, password and port; stays the same over `restart()`. */
  readonly url: string
  /** Changes with `restart()`. */
  readonly pid: number
  readonly logFile: string
  /** Ends it in order, within 10 s at most (what does not end is killed); safe to call twice. */
  stop(): Promise<void>
  /** Sends a signal, for fault tests; `onExit` tells the end. */
  kill(signal: NodeJS.Signals): void
  /** Starts it anew on the same port with the same data, ending it in order before when it still runs. Throws when the port is taken. */
  restart(): Promise<void>
  /** Calls back on every end that neither `stop()` nor `restart()` asked for. Returns the way to unsubscribe. */
  onExit(callback: (exit: PartExit) => void): () => void
}

export type Probe = 'ready' | 'starting' | 'silent' | 'refused'

export interface PartPlan {
  name: string
  url: string
  command: string
  args: string[]
  env: Record<string, string>
  owner?: { uid: number; gid: number }
  logFile: string
  /** What ends it, gentle first; each signal is given its time before the next. */
  ending: readonly { signal: NodeJS.Signals; patienceMs: number }[]
  /** Before each start: whatever a killed predecessor left in the way. */
  prepare(): Promise<void>
  /** Signs in to what runs there. */
  probe(): Promise<Probe>
}

const LOG_LIMIT_BYTES = 16 * 1024 * 1024
const START_LIMIT_MS = 120_000
const RETRY_LIMIT_MS = 15_000

/**
 * Starts the planned program detached, in a process group of its own (Ctrl-C in the terminal must reach the services first), and waits until it
 * lets us in with its password. Throws with the end of its log when it does not.
 */
export async function startPart(plan: PartPlan): Promise<EmbeddedPart> {
  const watchers = new Set<(exit: PartExit) => void>()
  const asked = new WeakSet<ChildProcess>()
  let child = await startChild()
  let turn: Promise<void> = Promise.resolve()

  async function startChild(): Promise<ChildProcess> {
    const started = await startUntilReady(plan)
    started.once('exit', (code, signal) => {
      if (!asked.has(started)) for (const watcher of watchers) watcher({ code, signal })
    })
    return started
  }

  // One after the other: a restart asked for during a stop must not run beside it.
  const inTurn = (work: () => Promise<void>) => {
    turn = turn.then(work, work)
    return turn
  }
  const end = () => {
    asked.add(child)
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
 * A program that ends at once is tried again for a while: after a `kill -9` PostgreSQL refuses until the last orphan of the dead server has let go
 * of the shared memory.
 */
async function startUntilReady(plan: PartPlan): Promise<ChildProcess> {
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
    if (performance.now() - begun > RETRY_LIMIT_MS) {
      throw new Error(`${plan.name} does not start. The end of ${plan.logFile}:\n${await lastLines(plan.logFile)}`)
    }
    await delay(pauseMs)
  }
}

async function spawnDetached(plan: PartPlan): Promise<ChildProcess> {
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

/** False when the program ended instead. Recovery after a crash takes its time, so an answer of "starting" is waited out. */
async function becomesReady(plan: PartPlan, child: ChildProcess): Promise<boolean> {
  const until = performance.now() + START_LIMIT_MS
  while (performance.now() < until) {
    const answer = await plan.probe()
    if (hasEnded(child)) return false
    if (answer === 'ready') return true
    if (answer === 'refused')
      throw new Error(`${plan.name} refuses the password kept beside its data (${plan.logFile})`)
    await delay(20)
  }
  throw new Error(`${plan.name} was not ready in time. The end of ${plan.logFile}:\n${await lastLines(plan.logFile)}`)
}

async function endChild(plan: PartPlan, child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  child.ref()
  const ended = once(child, 'exit')
  // A stopped process (SIGSTOP) acts on no other signal before it is continued.
  child.kill('SIGCONT')
  for (const { signal, patienceMs } of plan.ending) {
    child.kill(signal)
    const patience = new AbortController()
    const inTime = await Promise.race([
      ended.then(() => true),
      delay(patienceMs, false, { signal: patience.signal }).catch(() => false),
    ])
    patience.abort()
    if (inTime) return
  }
  child.kill('SIGKILL')
  await ended
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

const isLong = (file: string) =>
  stat(file).then(
    ({ size }) => size > LOG_LIMIT_BYTES,
    () => false,
  )

const lastLines = async (file: string) =>
  (await readFile(file, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-8).join('\n')
