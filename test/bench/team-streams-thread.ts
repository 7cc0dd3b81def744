import { parentPort, workerData } from 'node:worker_threads'
import type { Signed } from './people.ts'
import { StormStreams } from './storm-streams.ts'

/** A question to the thread with the streams; without a task it only asks for their state. */
export interface Question {
  number: number
  add?: readonly Signed[]
  reopen?: number
}

export interface StreamsState {
  size: number
  open: number
  notResumed: number
  refused: number
  /** Counts of all streams together, since they were opened. */
  events: number
  bytes: number
}

/** The answer: the state after the task was done, or the reason of its failure. */
export interface Answer {
  number: number
  state?: StreamsState
  failure?: string
}

/** The stream as the web client requests it. */
const path = '/events?scope=joined&presence=none'
const streams = await StormStreams.open(workerData as number, [], path)

async function answer({ number, add, reopen }: Question): Promise<Answer> {
  try {
    if (add) await streams.add(add)
    if (reopen !== undefined) await streams.reopen(reopen)
    const { size, open, notResumed, refusals, events, bytes } = streams
    return { number, state: { size, open, notResumed, refused: refusals.size, events, bytes } }
  } catch (error) {
    return { number, failure: (error as Error).message }
  }
}

parentPort!.on('message', async (question: Question) => parentPort!.postMessage(await answer(question)))
