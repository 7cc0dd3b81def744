import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { ConfigError, version } from '@parley/config'

type Undo = () => void | Promise<void>

/** A start that can be broken off at any moment, and undone in the opposite order. */
export interface Launcher {
  /** Registers how to undo what was just done. Throws when a stop was asked for meanwhile, so that the start goes no further. */
  done(undo: Undo): Promise<void>
  /** Aborted when a stop was asked for: long waits of a start end with it. */
  stopAsked: AbortSignal
  /** One line to the person at the terminal. */
  say(line: string): void
}

/** Thrown for what a person can put right; shown without a stack. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused'
}

/** What a start that is under way gets to finish its step. */
const stepPatienceMs = 1_500
/** What one step of undoing gets before the next one begins beside it. */
const undoPatienceMs = 3_000
/** What undoing may take, whatever hangs. */
const stopLimitMs = 8_000

/**
 * Runs `start` and keeps the process until SIGINT or SIGTERM, then undoes everything and exits, within 10 s; repeated signals
 * change nothing; with `--version` it says only which one this is. A start that fails, or a crash later, is undone as well and exits with 1.
 */
export async function launch(start: (launcher: Launcher) => Promise<void>): Promise<void> {
  if (process.argv.includes('--version')) {
    process.stdout.write(`Parley ${version}\n`)
    return
  }
  const undos: Undo[] = []
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  const stopAsked = stopOnSignal(say)

  const crash = once(process, 'uncaughtException').then(([error]) => ({ error }))

  const failure = await Promise.race([
    crash,
    start({
      say,
      stopAsked,
      async done(undo) {
        undos.push(undo)
        stopAsked.throwIfAborted()
      },
    }).then(
      () => undefined,
      (error: unknown) => ({ error }),
    ),
    aborted(stopAsked).then(() => delay(stepPatienceMs)),
  ])
  const fault = failure ?? (await Promise.race([crash, aborted(stopAsked).then(() => undefined)]))
  const isFaulty = fault && !stopAsked.aborted
  if (isFaulty) process.stderr.write(`${explain(fault.error)}\n`)
  setTimeout(() => {
    process.stderr.write('Not everything ended in time.\n')
    process.exit(1)
  }, stopLimitMs).unref()
  await undoAll(undos)
  if (stopAsked.aborted) say('Stopped.')
  process.exit(isFaulty ? 1 : 0)
}

/** Last things first. What hangs does not keep the rest running: databases are started first, so they end last. */
async function undoAll(undos: readonly Undo[]): Promise<void> {
  const undone: Promise<void>[] = []
  for (const undo of undos.toReversed()) {
    const each = Promise.resolve().then(undo)
    undone.push(each)
    await Promise.race([each.catch(() => {}), delay(undoPatienceMs)])
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
