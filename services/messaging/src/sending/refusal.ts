import { type ApiError, forbidden, invalid, notFound, sessionEnded, stillRunning } from '@parley/contract'
import { keyReused } from '@parley/database'
import type { Outcome } from './send-statement.ts'
import type { Sending } from './sending.ts'

/** What the caller is told of an outcome that is final and not a message; undefined for the others. */
export function refusalOf(outcome: Outcome, { direct }: Sending): ApiError | undefined {
  switch (outcome) {
    case 'unauthorized':
      return sessionEnded()
    case 'unknown':
      return notFound(direct ? 'conversation' : 'channel')
    case 'forbidden':
      return forbidden(
        direct ? 'You are not a participant of this conversation' : 'You are not a member of this channel',
      )
    case 'departed':
      return recipientGone()
    case 'unquotable':
      return invalid(`quotedMessageId must be the id of a message in this ${direct ? 'conversation' : 'channel'}`)
    case 'reused':
      return keyReused()
    case 'running':
      return stillRunning()
    default:
      return undefined
  }
}

/** Of a conversation whose other participant was removed or has left: it can be read, but nobody would read what is sent. */
export const recipientGone = () =>
  invalid('This person was removed from the server or has left it, so nobody would read the message', 'recipient_gone')
