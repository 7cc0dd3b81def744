import { setTimeout as delay } from 'node:timers/promises'
import { noMember, recipientGone } from '@parley/access'
import { type ApiError, enrolmentRequired, notFound, sessionEnded, stillRunning, unavailable } from '@parley/contract'
import { type Connection, keyLifetimeMs, keyReused } from '@parley/database'
import { inSpan, type Logger, spanAttribute, spanName } from '@parley/telemetry'
import { unquotable } from '../messages/quotes.ts'
import { sendAfterLostAnswer } from './lost-answer.ts'
import { type CommittedMessage, messageText } from './new-message.ts'
import { sendFailure } from './send-failure.ts'
import { type SendOutcome, type SendRow, type SendStatement, sendQuery } from './send-statement.ts'
import type { Sending } from './sending.ts'

export interface BatchOptions {
  pool: Connection['pool']
  logger: Logger
  /** Epoch milliseconds. */
  clock: () => number
  /** Called after each commit. */
  onStored: (stored: readonly CommittedMessage[]) => void
}

/** A send that must be retried because it has no final outcome yet. */
export interface Unanswered {
  sending: Sending
  outcome: SendOutcome | undefined
}

/** Runs the shared statement and settles every send whose outcome is final. Returns the others. */
export async function sendBatch(
  options: BatchOptions,
  batch: readonly Sending[],
  statement: SendStatement,
): Promise<Unanswered[]> {
  let rows: SendRow[]
  try {
    rows = await runSend(options.pool, batch, statement, options.clock())
  } catch (error) {
    return recover(options, batch, statement, error)
  }
  const unanswered = settleKnown(options, batch, rows)
  await dropExpiredKeys(options, unanswered)
  return unanswered
}

/** Runs the shared statement once. @throws the error of the database or of the connection. */
export async function runSend(
  pool: Connection['pool'],
  batch: readonly Sending[],
  statement: SendStatement,
  now: number,
): Promise<SendRow[]> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    const { rows } = await inTraceOf(batch, () => client.query<SendRow>(sendQuery(statement, batch, now)))
    return rows
  } catch (error) {
    if (sendFailure(error) === 'lost') broken = error as Error
    throw error
  } finally {
    client.release(broken)
  }
}

/** The span of the statement is a child of the first traced send, and has links to the other sends. */
function inTraceOf<T>(batch: readonly Sending[], run: () => T): T {
  const parent = batch.find(({ trace }) => trace !== null)?.trace
  if (!parent) return run()
  const links = batch.map(({ trace }) => trace).filter((trace) => trace !== parent)
  return inSpan(spanName.sendBatch, { parent, links, attributes: { [spanAttribute.batchSize]: batch.length } }, run)
}

/** A send with a bad value must not fail the others: a batch that was rolled back runs again in halves, down to single sends. */
async function recover(
  options: BatchOptions,
  batch: readonly Sending[],
  statement: SendStatement,
  error: unknown,
): Promise<Unanswered[]> {
  const failure = sendFailure(error)
  if (failure === 'lost') {
    options.logger.warn(
      { err: error, sends: batch.length },
      'the connection was lost before a shared send was answered',
    )
    return resolveLostAnswer(options, batch)
  }
  if (failure === 'transient') {
    await delay(50)
    return batch.map((sending) => ({ sending, outcome: undefined }))
  }
  if (batch.length === 1) return settleSingle(batch[0]!, failure, error)
  return inHalves(batch, (half) => sendBatch(options, half, statement))
}

function settleSingle(sending: Sending, failure: 'overtaken' | 'refused', error: unknown): Unanswered[] {
  if (failure === 'overtaken') return [{ sending, outcome: undefined }]
  sending.reject(error as Error)
  return []
}

async function inHalves<T>(batch: readonly T[], run: (half: readonly T[]) => Promise<Unanswered[]>) {
  const middle = Math.ceil(batch.length / 2)
  const first = await run(batch.slice(0, middle))
  return first.concat(await run(batch.slice(middle)))
}

/** Retries until each send has an outcome, or its deadline has passed. */
async function resolveLostAnswer(options: BatchOptions, batch: readonly Sending[]): Promise<Unanswered[]> {
  const unanswered: Unanswered[] = []
  let unknown = batch
  for (let pause = 10; ; pause = Math.min(pause * 2, 500)) {
    unknown = unknown.filter((sending) => inTime(sending, options.clock()))
    if (unknown.length === 0) return unanswered
    try {
      const rows = await sendAfterLostAnswer(options.pool, unknown, options.clock())
      // The lost statement itself may still hold the key while it waits for the locks of this transaction.
      const known = rows.filter(([, outcome]) => outcome !== 'running')
      unanswered.push(...settleKnown(options, unknown, known))
      const unsure = rows.filter(([, outcome]) => outcome === 'running')
      unknown = unsure.map(([n]) => unknown[n - 1]!)
    } catch (error) {
      const failure = sendFailure(error)
      if (failure === 'refused' || failure === 'overtaken') {
        if (unknown.length > 1)
          return unanswered.concat(await inHalves(unknown, (half) => resolveLostAnswer(options, half)))
        return unanswered.concat(settleSingle(unknown[0]!, failure, error))
      }
      options.logger.warn({ err: error, sends: unknown.length }, 'the outcome of a shared send is still unknown')
    }
    if (unknown.length > 0) await delay(pause)
  }
}

/**
 * Settles the sends with a final outcome. It does so after the next statement was sent, so that PostgreSQL works while the responses are
 * written.
 */
function settleKnown({ onStored }: BatchOptions, batch: readonly Sending[], rows: readonly SendRow[]): Unanswered[] {
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

/** Whether the deadline of the send has not passed yet. If it has passed, the send is rejected. */
export function inTime(sending: Sending, now: number): boolean {
  if (now < sending.deadline) return true
  sending.reject(unavailable('The message could not be stored in time. Please try again'))
  return false
}

async function dropExpiredKeys({ pool, clock }: BatchOptions, unanswered: readonly Unanswered[]) {
  for (const { sending, outcome } of unanswered) {
    if (outcome !== 'expired') continue
    await pool
      .query('delete from idempotency_keys where user_id = $1 and key = $2 and created_at <= $3', [
        sending.userId,
        sending.key,
        clock() - keyLifetimeMs,
      ])
      // On failure, the next try finds the expired key again.
      .catch(() => {})
  }
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
