import { RequestFailed } from '@parley/client'
import { signal } from '@preact/signals'
import { t } from '../texts/texts.ts'

/** Errors that are shown until they are closed. */
export const problems = signal<readonly { id: number; text: string }[]>([])
let lastId = 0

export function closeProblem(id: number) {
  problems.value = problems.value.filter((problem) => problem.id !== id)
}

/** What was done a moment ago and cannot be seen otherwise. */
export const notice = signal('')
const noticeMs = 4_000
let noticeTimer: ReturnType<typeof setTimeout> | undefined

export function note(text: string) {
  clearTimeout(noticeTimer)
  notice.value = text
  noticeTimer = setTimeout(() => (notice.value = ''), noticeMs)
}

/** What a person is told about a failure: the server's own sentence, or that it could not be reached. */
export function textOf(error: unknown): string {
  if (!(error instanceof RequestFailed)) throw error
  return error.status === 0 ? t('The server cannot be reached. Please try again') : error.message
}

/** Shows a sentence about something that went wrong. */
export function tell(text: string) {
  problems.value = [...problems.value.filter((problem) => problem.text !== text), { id: ++lastId, text }]
}

/** The browser keeps nothing, because its storage is full or switched off. Everything works, but is forgotten on a reload. */
export function report(error: unknown) {
  reportError(error)
  tell(t('This browser cannot store anything. What you write may be lost on a reload'))
}

/** Does something and shows why it failed, if it did. Answers undefined then. */
export async function attempt<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    tell(textOf(error))
    return undefined
  }
}

/** Whether the same request may succeed later: the server did not answer, or was too busy, or failed. */
export const isPassing = ({ status }: RequestFailed) => status === 0 || status === 429 || status >= 500

const firstPauseMs = 5_000
const longestPauseMs = 300_000

/** So long the page waits before it asks again by itself, in milliseconds, after so many failures in a row. */
export const pauseAfter = (failures: number) => Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1))

/** For what nobody has to be told: it is done again at the next occasion. */
export function ignoreFailure(error: unknown) {
  if (!(error instanceof RequestFailed)) throw error
}
