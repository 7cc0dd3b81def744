import { RequestFailed } from '@parley/client'
import { type Signal, signal } from '@preact/signals'
import { isPassing, pauseAfter } from '../ui/problems.ts'

interface Answer<T> {
  /** Another object for every redraw. */
  given: Signal<{ value: T | undefined }>
  isAsked: boolean
  failures: number
  timer?: ReturnType<typeof setTimeout>
}

/**
 * Answers that are kept by key, each asked for when it is first read. It is undefined until it is there, and when the server
 * refuses it. After any other failure it is asked for again when it is next read, and whoever shows it reads it again after
 * a pause that grows.
 */
export function createAnswers<T>() {
  const answers = new Map<string, Answer<T>>()

  function askFor(answer: Answer<T>, ask: () => Promise<T>) {
    answer.isAsked = true
    clearTimeout(answer.timer)
    ask().then(
      (value) => {
        answer.given.value = { value }
      },
      (error) => {
        if (!(error instanceof RequestFailed)) throw error
        if (!isPassing(error)) return
        answer.isAsked = false
        answer.timer = setTimeout(
          () => {
            answer.given.value = { value: undefined }
          },
          pauseAfter(++answer.failures),
        )
      },
    )
  }

  return (key: string, ask: () => Promise<T>): T | undefined => {
    const answer = answers.get(key) ?? { given: signal({ value: undefined }), isAsked: false, failures: 0 }
    answers.set(key, answer)
    if (!answer.isAsked) askFor(answer, ask)
    return answer.given.value.value
  }
}
