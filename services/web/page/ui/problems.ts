import { RequestFailed } from '@parley/client'
import { signal } from '@preact/signals'
import { serverText, t } from '../texts/texts.ts'

/** A button beside an error, which closes it. */
interface WayOut {
  label: string
  onChoose: () => void
}

/** Errors that are shown until they are closed. */
export const problems = signal<readonly { id: number; text: string; wayOut: WayOut | undefined }[]>([])
let lastId = 0

export function closeProblem(id: number) {
  problems.value = problems.value.filter((problem) => problem.id !== id)
}

/** The error sentence of a failed request: that of the server, or that the server could not be reached. */
export function textOf(error: unknown): string {
  if (!(error instanceof RequestFailed)) throw error
  return error.status === 0 ? t('The server cannot be reached. Please try again') : serverText(error.message)
}

/** Shows an error sentence until the person closes it. */
export function showProblem(text: string, wayOut?: WayOut) {
  withdrawProblem(text)
  problems.value = [...problems.value, { id: ++lastId, text, wayOut }]
}

/** Closes an error whose cause is gone. */
export function withdrawProblem(text: string) {
  problems.value = problems.value.filter((problem) => problem.text !== text)
}

/** Shows why a request failed. When the session has ended, the page says so already. */
export function showFailure(error: unknown) {
  const text = textOf(error)
  if ((error as RequestFailed).status !== 401) showProblem(text)
}

/** Reports that the browser's storage is full or disabled. The page works, but a reload may lose data. */
export function reportStorageFailure(error: unknown) {
  reportError(error)
  showProblem(t('This browser cannot store anything. What you write may be lost on a reload'))
}

/** Waits for a request. When it fails, shows the error and returns undefined. */
export async function attempt<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    showFailure(error)
    return undefined
  }
}
