import { parentPort, workerData } from 'node:worker_threads'
import type { Signed } from './people.ts'
import { StormStreams } from './storm-streams.ts'

/** What the thread with the streams is asked; without anything to do, only how they are. */
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
  /** Of all streams together, since they were opened. */
  events: number
  bytes: number
}

/** With the state once it is done, or why it cannot be. */
export interface Answer {
  number: number
  state?: StreamsState
  failure?: string
}

/** As the web client asks for it. */
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
