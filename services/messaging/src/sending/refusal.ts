import { type ApiError, forbidden, invalid, notFound, stillRunning, unauthorized } from '@parley/contract'
import type { Outcome } from './send.statement.ts'
import type { Sending } from './sending.ts'

/** What the caller is told of an outcome that is final and not a message; undefined for the others. */
export function refusalOf(outcome: Outcome, { direct }: Sending): ApiError | undefined {
  switch (outcome) {
    case 'unauthorized':
      return unauthorized('The session has ended, please sign in again')
    case 'unknown':
      return notFound(direct ? 'conversation' : 'channel')
    case 'forbidden':
      return forbidden(direct ? 'This conversation is between others' : 'You are not a member of this channel')
    case 'unquotable':
      return invalid(`The quoted message is not in this ${direct ? 'conversation' : 'channel'}`)
    case 'reused':
      return keyReused()
    case 'running':
      return stillRunning()
    default:
      return undefined
  }
}

export const keyReused = () => invalid('This Idempotency-Key was used for another request', 'idempotency_key_reused')
