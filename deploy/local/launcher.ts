import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { ConfigError } from '@parley/config'

/** A start that can be broken off at any moment, and undone in the opposite order. */
export interface Launcher {
  /** Registers how to undo what was just done. Throws when a stop was asked for meanwhile, so that the start goes no further. */
  done(undo: () => void | Promise<void>): Promise<void>
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
const stepPatienceMs = 4_000
const stopLimitMs = 9_500

/**
 * Runs `start` and keeps the process until SIGINT or SIGTERM, then undoes everything and exits, within 10 s; repeated signals
 * change nothing. A start that fails is undone as well and exits with 1.
 */
export async function launch(start: (launcher: Launcher) => Promise<void>): Promise<void> {
  const stack = new AsyncDisposableStack()
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  const stopAsked = stopOnSignal(say)

  const failure = await Promise.race([
    start({
      say,
      stopAsked,
      async done(undo) {
        stack.defer(undo)
        stopAsked.throwIfAborted()
      },
    }).then(
      () => undefined,
      (error: unknown) => ({ error }),
    ),
    aborted(stopAsked).then(() => delay(stepPatienceMs)),
  ])
  if (failure && !stopAsked.aborted) process.stderr.write(`${explain(failure.error)}\n`)
  if (!failure) await aborted(stopAsked)
  await stack.disposeAsync()
  if (stopAsked.aborted) say('Stopped.')
  process.exit(failure && !stopAsked.aborted ? 1 : 0)
}

function stopOnSignal(say: (line: string) => void): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) return
      say('Stopping …')
      setTimeout(() => process.exit(1), stopLimitMs)
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
