import { noMember, recipientGone } from '@parley/access'
import { type ApiError, enrolmentRequired, notFound, sessionEnded, stillRunning, unavailable } from '@parley/contract'
import { keyReused } from '@parley/database'
import { unquotable } from '../messages/quotes.ts'
import { type CommittedMessage, messageText } from './new-message.ts'
import type { SendOutcome, SendRow } from './send-statement.ts'
import type { Sending } from './sending.ts'

/** A send that must be retried because it has no final outcome yet. */
export interface Unanswered {
  sending: Sending
  /** Undefined when its statement was rolled back. */
  outcome: SendOutcome | undefined
}

/**
 * Settles the sends with a final outcome, and returns the others. It settles them after the next statement was sent, so that PostgreSQL
 * works while the responses are written.
 */
export function settleSends(
  batch: readonly Sending[],
  rows: readonly SendRow[],
  onStored: (stored: readonly CommittedMessage[]) => void,
): Unanswered[] {
  const unanswered: Unanswered[] = []
  const settles: (() => void)[] = []
  const stored: CommittedMessage[] = []
  for (const [n, outcome, seq, author, first] of rows) {
    const sending = batch[n - 1]!
    const refusal = refusalOf(outcome, sending)
    if (outcome === 'stored') {
      settles.push(() => sending.resolve(messageText(sending, seq!, author!)))
      stored.push({ channelId: sending.channelId!, isReply: false, seq: seq! })
    } else if (outcome === 'repeated') {
      settles.push(() => sending.resolve(first!))
    } else if (refusal) {
      settles.push(() => sending.reject(refusal))
    } else {
      unanswered.push({ sending, outcome })
    }
  }
  setImmediate(() => {
    for (const settle of settles) settle()
    if (stored.length > 0) onStored(stored)
  })
  return unanswered
}

/** The error for an outcome that is a refusal. Undefined for other outcomes. */
function refusalOf(outcome: SendOutcome, { direct }: Sending): ApiError | undefined {
  const kind = direct ? 'direct' : 'private'
  switch (outcome) {
    case 'unauthorized':
      return sessionEnded()
    case 'unenrolled':
      return enrolmentRequired()
    case 'unknown':
      return notFound(direct ? 'conversation' : 'channel')
    case 'forbidden':
      return noMember({ kind })
    case 'departed':
      return recipientGone()
    case 'unquotable':
      return unquotable({ kind })
    case 'reused':
      return keyReused()
    case 'running':
      return stillRunning()
    default:
      return undefined
  }
}

/** Rejects the send when its deadline has passed. Returns whether it has passed. */
export function rejectLate(sending: Sending, now: number): boolean {
  if (now < sending.deadline) return false
  sending.reject(unavailable('The message could not be stored in time. Please try again'))
  return true
}
