import { RequestFailed } from '@parley/client'
import { type Signal, signal } from '@preact/signals'
import { isPassing } from '../ui/problems.ts'

/**
 * Answers that are kept by key, each asked for when it is first read. It is undefined until it is there, and when the server
 * refuses it. After any other failure it is asked for again when it is next read.
 */
export function createAnswers<T>() {
  const answers = new Map<string, Signal<T | undefined>>()
  const asked = new Set<string>()

  return (key: string, ask: () => Promise<T>): T | undefined => {
    const answer = answers.get(key) ?? signal<T | undefined>(undefined)
    answers.set(key, answer)
    if (!asked.has(key)) {
      asked.add(key)
      ask().then(
        (given) => {
          answer.value = given
        },
        (error) => {
          if (!(error instanceof RequestFailed)) throw error
          if (isPassing(error)) asked.delete(key)
        },
      )
    }
    return answer.value
  }
}
