import { RequestFailed } from '@parley/client'

/** Whether the same request may succeed later, because the server did not respond, was too busy, or failed. */
export const isTemporary = ({ status }: RequestFailed) => status === 0 || status === 429 || status >= 500

const firstPauseMs = 5_000
const maxPauseMs = 300_000

/** The pause before the next automatic retry, in milliseconds, after this number of consecutive failures. */
export const pauseAfter = (failures: number) => Math.min(maxPauseMs, firstPauseMs * 2 ** (failures - 1))

/** Ignores a failed request that will be repeated later anyway. @throws every other error. */
export function ignoreFailure(error: unknown) {
  if (!(error instanceof RequestFailed)) throw error
}
