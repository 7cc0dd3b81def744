import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Config } from '@parley/config'
import type { JobData } from '@parley/contract'

/** What the thread is given: nothing of it is a function. */
export type ExporterSettings = Pick<Config, 'database' | 'storage' | 'exports'>
/** What the thread is told: an export to compute, one at a time, or that it should end what it is at. */
export type ExporterOrder = { exportId: string } | 'stop'
/** What it answers to an export. */
export type ExporterAnswer = { failure?: Error }

export interface Exporter {
  /** @throws what `computeExport` throws, and an error when the thread had not enough memory. */
  compute(data: JobData<'compute-export'>, stopping: AbortSignal): Promise<void>
  stop(): Promise<void>
}

/**
 * Left to itself, the heap of a process with much memory grows by hundreds of megabytes before anything is collected. An export
 * needs some 30 MB; a thread that needs more than this fails, and nothing else with it.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: 96 }
/** To start it takes a second of work. */
const idleMs = 60_000

/**
 * Computes exports, one after the other, in a thread of its own: its memory is bounded there, and the relay, which may lead in
 * this process, does not wait behind a million records. The thread has two connections to the database of its own.
 */
export function createExporter({ database, storage, exports }: Config): Exporter {
  let thread: Worker | undefined
  let leaving: NodeJS.Timeout | undefined

  function start(): Worker {
    const workerData: ExporterSettings = { database, storage, exports }
    const program = new URL('./exporter.thread.ts', import.meta.url)
    // Tracing patches modules, and there is no span in there.
    const started = new Worker(program, { name: 'exporter', workerData, resourceLimits, execArgv: [] })
    // Whoever waits for an answer hears of it; when nobody does, the next one begins with a new thread.
    started
      .on('error', () => {})
      .once('exit', () => {
        if (thread === started) thread = undefined
      })
    started.unref()
    return started
  }

  async function stop() {
    clearTimeout(leaving)
    await thread?.terminate()
  }

  return {
    async compute({ exportId }, stopping) {
      stopping.throwIfAborted()
      clearTimeout(leaving)
      thread ??= start()
      const mine = thread
      const tell = (order: ExporterOrder) => mine.postMessage(order)
      const answered = new AbortController()
      const { signal } = answered
      stopping.addEventListener('abort', () => tell('stop'), { signal })
      const ended = once(mine, 'exit', { signal }).then(([code]) => {
        throw new Error(`the thread of exports ended with code ${code}`)
      })
      try {
        tell({ exportId })
        const [{ failure }] = (await Promise.race([once(mine, 'message', { signal }), ended])) as [ExporterAnswer]
        if (failure) throw failure
      } finally {
        answered.abort()
        leaving = setTimeout(stop, idleMs).unref()
      }
    },
    stop,
  }
}
