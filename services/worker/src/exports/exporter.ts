import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Config } from '@parley/config'
import type { JobData } from '@parley/contract'

/** The settings of the thread. They have no functions, so that they can be cloned. */
export type ExporterSettings = Pick<Config, 'database' | 'storage' | 'exports'>
/** A message to the thread: compute this export (one at a time), or stop the current one. */
export type ExporterOrder = { exportId: string } | 'stop'
/** The answer of the thread to an export. */
export type ExporterAnswer = { failure?: Error }

export interface Exporter {
  /** @throws the errors of `computeExport`, and an error when the thread runs out of memory. */
  compute(data: JobData<'compute-export'>, stopping: AbortSignal): Promise<void>
  stop(): Promise<void>
}

/**
 * Without a limit the heap would grow by hundreds of megabytes before garbage is collected. An export needs some 30 MB.
 * If it needs more than the limit, only the thread fails.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: 96 }
/** The thread ends after this time without work. Starting one takes a second of processor time. */
const idleMs = 60_000

/**
 * Computes exports one after the other in a thread, so that their memory is bounded and the relay, which may lead in this process,
 * never waits for them. The thread has its own two connections to the database.
 */
export function createExporter({ database, storage, exports }: Config): Exporter {
  let thread: Worker | undefined
  let idleTimer: NodeJS.Timeout | undefined

  function start(): Worker {
    const workerData: ExporterSettings = { database, storage, exports }
    const program = new URL('./exporter-thread.ts', import.meta.url)
    // The thread starts without the preload of tracing, because it creates no spans.
    const started = new Worker(program, { name: 'exporter', workerData, resourceLimits, execArgv: [] })
    // A running `compute` notices the exit. Otherwise the next call starts a new thread.
    started
      .on('error', () => {})
      .once('exit', () => {
        if (thread === started) thread = undefined
      })
    started.unref()
    return started
  }

  async function stop() {
    clearTimeout(idleTimer)
    const ending = thread
    // An export that begins while this thread ends needs a new one.
    thread = undefined
    await ending?.terminate()
  }

  return {
    async compute({ exportId }, stopping) {
      stopping.throwIfAborted()
      clearTimeout(idleTimer)
      thread ??= start()
      const current = thread
      const send = (order: ExporterOrder) => current.postMessage(order)
      const answered = new AbortController()
      const { signal } = answered
      stopping.addEventListener('abort', () => send('stop'), { signal })
      const ended = once(current, 'exit', { signal }).then(([code]) => {
        throw new Error(`the thread of exports ended with code ${code}`)
      })
      try {
        send({ exportId })
        const [{ failure }] = (await Promise.race([once(current, 'message', { signal }), ended])) as [ExporterAnswer]
        if (failure) throw failure
      } finally {
        answered.abort()
        idleTimer = setTimeout(stop, idleMs).unref()
      }
    },
    stop,
  }
}
