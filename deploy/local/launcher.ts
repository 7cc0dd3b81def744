import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { ConfigError, version } from '@parley/config'

type Stop = () => void | Promise<void>

/** Something that the start has started. */
interface Started {
  name: string
  stop: Stop
}

/** Starts one thing after the other. It can be interrupted at any moment, and then stops them in the reverse order. */
export interface Launcher {
  /**
   * Registers how to stop what was just started, under this name.
   * @throws when a stop was requested. This ends the start.
   */
  onStop(name: string, stop: Stop): Promise<void>
  /** Aborted when a stop is requested. Long waits end with it. */
  stopRequested: AbortSignal
  /** Writes a line to the terminal. */
  say(line: string): void
}

/** An error that the user can correct. It is shown without a stack trace. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused'
}

/** The time that an interrupted start has for what it is starting. */
const startTimeoutMs = 1_500
/** After this time, the next one is stopped too, even if the stop of the current one has not finished. */
const stopTimeoutMs = 3_000
/**
 * The time limit for all stops: the services and Redis each have `stopTimeoutMs`, and PostgreSQL, whose last checkpoint
 * waits for the disk, has eight seconds (`libs/embedded`).
 */
const stopLimitMs = 15_000

/**
 * Runs `start` and keeps the process until SIGINT or SIGTERM. Then it stops everything and exits: usually in less than
 * two seconds, and within 17 s. Further signals are ignored. After a failed start and a later crash everything is
 * stopped too. Then, and when a stop fails, the exit code is 1. With `--version` it prints the version and starts nothing.
 */
export async function launch(start: (launcher: Launcher) => Promise<void>): Promise<void> {
  if (process.argv.includes('--version')) {
    process.stdout.write(`Parley ${version}\n`)
    return
  }
  const started: Started[] = []
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  const stopRequested = stopOnSignal(say)

  const crash = once(process, 'uncaughtException').then(([error]) => ({ error }))

  const failure = await Promise.race([
    crash,
    start({
      say,
      stopRequested,
      async onStop(name, stop) {
        started.push({ name, stop })
        stopRequested.throwIfAborted()
      },
    }).then(
      () => undefined,
      (error: unknown) => ({ error }),
    ),
    aborted(stopRequested).then(() => delay(startTimeoutMs)),
  ])
  const fault = failure ?? (await Promise.race([crash, aborted(stopRequested).then(() => undefined)]))
  const isFaulty = fault && !stopRequested.aborted
  if (isFaulty) process.stderr.write(`${explain(fault.error)}\n`)
  const running = new Set(started.map(({ name }) => name))
  setTimeout(() => {
    process.stderr.write(`Not everything ended in time. Still running: ${[...running].join(', ')}.\n`)
    process.exit(1)
  }, stopLimitMs).unref()
  const haveStopped = await stopAll(started, running)
  if (stopRequested.aborted && haveStopped) say('Stopped.')
  process.exit(isFaulty || !haveStopped ? 1 : 0)
}

/**
 * Stops what was started last first, so databases end last. A stop that hangs or fails does not prevent the others. A
 * name whose stop has ended is removed from `running`. Returns false when a stop failed.
 */
async function stopAll(started: readonly Started[], running: Set<string>): Promise<boolean> {
  const stopped: Promise<boolean>[] = []
  for (const { name, stop } of started.toReversed()) {
    const each = stopOne(name, stop).finally(() => running.delete(name))
    stopped.push(each)
    await Promise.race([each, delay(stopTimeoutMs)])
  }
  return (await Promise.all(stopped)).every(Boolean)
}

/** Returns false when the stop failed, which is reported. */
async function stopOne(name: string, stop: Stop): Promise<boolean> {
  try {
    await stop()
    return true
  } catch (error) {
    process.stderr.write(`The stop of ${name} failed: ${(error as Error).message}\n`)
    return false
  }
}

function stopOnSignal(say: (line: string) => void): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) return
      say('Stopping …')
      stop.abort()
    })
  }
  return stop.signal
}

const aborted = (signal: AbortSignal): Promise<unknown> => (signal.aborted ? Promise.resolve() : once(signal, 'abort'))

function explain(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StartRefused) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
