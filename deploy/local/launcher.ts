import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { ConfigError, version } from '@parley/config'

type Undo = () => void | Promise<void>

interface Step {
  name: string
  undo: Undo
}

/** The steps of a start. They can be interrupted at any moment, and are undone in the reverse order. */
export interface Launcher {
  /**
   * Registers how to undo the step just done, and the name of what it has started.
   * @throws when a stop was requested. This ends the start.
   */
  done(name: string, undo: Undo): Promise<void>
  /** Aborted when a stop is requested. Long waits end with it. */
  stopRequested: AbortSignal
  /** Writes a line to the terminal. */
  say(line: string): void
}

/** An error that the user can correct. It is shown without a stack trace. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused'
}

/** The time that an interrupted start has to finish its current step. */
const stepTimeoutMs = 1_500
/** After this time, the next step is undone too, even if the current one has not finished. */
const undoTimeoutMs = 3_000
/**
 * The time limit for undoing all steps: the services and Redis each have `undoTimeoutMs`, and PostgreSQL, whose last
 * checkpoint waits for the disk, has eight seconds (`libs/embedded`).
 */
const stopLimitMs = 15_000

/**
 * Runs `start` and keeps the process until SIGINT or SIGTERM. Then it undoes all steps and exits: usually in less than
 * two seconds, and within 17 s. Further signals are ignored. A failed start and a later crash are undone too; then the
 * exit code is 1. With `--version` it prints the version and starts nothing.
 */
export async function launch(start: (launcher: Launcher) => Promise<void>): Promise<void> {
  if (process.argv.includes('--version')) {
    process.stdout.write(`Parley ${version}\n`)
    return
  }
  const steps: Step[] = []
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  const stopRequested = stopOnSignal(say)

  const crash = once(process, 'uncaughtException').then(([error]) => ({ error }))

  const failure = await Promise.race([
    crash,
    start({
      say,
      stopRequested,
      async done(name, undo) {
        steps.push({ name, undo })
        stopRequested.throwIfAborted()
      },
    }).then(
      () => undefined,
      (error: unknown) => ({ error }),
    ),
    aborted(stopRequested).then(() => delay(stepTimeoutMs)),
  ])
  const fault = failure ?? (await Promise.race([crash, aborted(stopRequested).then(() => undefined)]))
  const isFaulty = fault && !stopRequested.aborted
  if (isFaulty) process.stderr.write(`${explain(fault.error)}\n`)
  const running = new Set(steps.map(({ name }) => name))
  setTimeout(() => {
    process.stderr.write(`Not everything ended in time. Still running: ${[...running].join(', ')}.\n`)
    process.exit(1)
  }, stopLimitMs).unref()
  await undoAll(steps, running)
  if (stopRequested.aborted) say('Stopped.')
  process.exit(isFaulty ? 1 : 0)
}

/**
 * Undoes the last step first, so databases end last. A step that hangs does not stop the others. The name of a step that has ended is
 * removed from `running`.
 */
async function undoAll(steps: readonly Step[], running: Set<string>): Promise<void> {
  const undone: Promise<void>[] = []
  for (const { name, undo } of steps.toReversed()) {
    const each = Promise.resolve()
      .then(undo)
      .then(() => void running.delete(name))
    undone.push(each)
    await Promise.race([each.catch(() => {}), delay(undoTimeoutMs)])
  }
  await Promise.all(undone)
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
