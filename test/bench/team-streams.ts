import { Worker } from 'node:worker_threads'
import type { Signed } from './people.ts'
import type { Answer, Question, StreamsState } from './team-streams-thread.ts'

/**
 * The streams of all people, in a separate thread. A real person waits for an answer in their own browser, which does
 * not first have to read the events of thousands of other streams.
 */
export class TeamStreams {
  #thread: Worker
  #asked = new Map<number, PromiseWithResolvers<StreamsState>>()
  #count = 0

  constructor(port: number) {
    this.#thread = new Worker(new URL('./team-streams-thread.ts', import.meta.url), { workerData: port })
    this.#thread.on('message', ({ number, state, failure }: Answer) => {
      const { resolve, reject } = this.#asked.get(number)!
      this.#asked.delete(number)
      if (state) resolve(state)
      else reject(new Error(failure))
    })
    this.#thread.on('error', (error) => {
      for (const { reject } of this.#asked.values()) reject(error)
    })
  }

  /** Opens streams of more people. */
  add = (people: readonly Signed[]) => this.#ask({ add: people })

  /** Cuts one person's connection and opens a new one at once; resolves when the stream is open again. */
  reopen = (index: number) => this.#ask({ reopen: index })

  state = () => this.#ask({})

  close = () => this.#thread.terminate()

  #ask(question: Omit<Question, 'number'>): Promise<StreamsState> {
    const number = this.#count++
    const answered = Promise.withResolvers<StreamsState>()
    this.#asked.set(number, answered)
    this.#thread.postMessage({ ...question, number } satisfies Question)
    return answered.promise
  }
}
