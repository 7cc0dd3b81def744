import { setTimeout as delay } from 'node:timers/promises'
import { unavailable } from '@parley/contract'
import { type Connection, keyLifetimeMs } from '@parley/database'
import { foldEvery } from '@parley/read-states'
import type { Logger } from '@parley/telemetry'
import { sendAfterLostAnswer } from './lost-answer.ts'
import { messageText } from './new-message.ts'
import { refusalOf } from './refusal.ts'
import { runSend } from './run-send.ts'
import { sendFailure } from './send-failure.ts'
import type { Outcome, SendRow, SendStatement } from './send-statement.ts'
import type { Sending } from './sending.ts'

export interface AttemptOptions {
  pool: Connection['pool']
  logger: Logger
  /** Epoch milliseconds. */
  clock: () => number
  /** Called after each commit with the number of messages it stored. */
  onStored: (count: number) => void
  /** Called after every so many messages of a channel. */
  onMilestone: (channelId: string, seq: number) => void
}

/** A send that has no answer yet and must be tried again, and why. */
export interface Unsettled {
  sending: Sending
  outcome: Outcome | undefined
}

/** Runs the shared statement and answers every send of which the outcome is final. */
export async function attempt(
  options: AttemptOptions,
  batch: readonly Sending[],
  statement: SendStatement,
): Promise<Unsettled[]> {
  let rows: SendRow[]
  try {
    rows = await runSend(options.pool, batch, statement, options.clock())
  } catch (error) {
    return recover(options, batch, statement, error)
  }
  const unsettled = settle(options, batch, rows)
  await dropOutlivedKeys(options, unsettled)
  return unsettled
}

/** One bad value must not fail its neighbours: what was rolled back is run again in halves, down to single rows. */
async function recover(
  options: AttemptOptions,
  batch: readonly Sending[],
  statement: SendStatement,
  error: unknown,
): Promise<Unsettled[]> {
  const failure = sendFailure(error)
  if (failure === 'lost') {
    options.logger.warn({ err: error, sends: batch.length }, 'the answer of a shared send was lost')
    return findOut(options, batch)
  }
  if (failure === 'passing') {
    await delay(50)
    return batch.map((sending) => ({ sending, outcome: undefined }))
  }
  if (batch.length === 1) return settleAlone(batch[0]!, failure, error)
  return inHalves(batch, (half) => attempt(options, half, statement))
}

function settleAlone(sending: Sending, failure: 'overtaken' | 'refused', error: unknown): Unsettled[] {
  if (failure === 'overtaken') return [{ sending, outcome: undefined }]
  sending.reject(error as Error)
  return []
}

async function inHalves<T>(batch: readonly T[], run: (half: readonly T[]) => Promise<Unsettled[]>) {
  const middle = Math.ceil(batch.length / 2)
  const first = await run(batch.slice(0, middle))
  return first.concat(await run(batch.slice(middle)))
}

/** The answer was lost: finds out, for as long as the sends may wait, what became of them. */
async function findOut(options: AttemptOptions, batch: readonly Sending[]): Promise<Unsettled[]> {
  const unsettled: Unsettled[] = []
  let unknown = batch
  for (let pause = 10; ; pause = Math.min(pause * 2, 500)) {
    unknown = unknown.filter((sending) => inTime(sending, options.clock()))
    if (unknown.length === 0) return unsettled
    try {
      const rows = await sendAfterLostAnswer(options.pool, unknown, options.clock())
      // A key that is taken may be taken by the lost statement itself, which then waits for us.
      const unsure = rows.filter(([, outcome]) => outcome === 'running').map(([n]) => unknown[n - 1]!)
      unsettled.push(
        ...settle(
          options,
          unknown,
          rows.filter(([, outcome]) => outcome !== 'running'),
        ),
      )
      unknown = unsure
    } catch (error) {
      const failure = sendFailure(error)
      if (failure === 'refused' || failure === 'overtaken') {
        if (unknown.length > 1) return unsettled.concat(await inHalves(unknown, (half) => findOut(options, half)))
        return unsettled.concat(settleAlone(unknown[0]!, failure, error))
      }
      options.logger.warn({ err: error, sends: unknown.length }, 'what became of a shared send is not known yet')
    }
    if (unknown.length > 0) await delay(pause)
  }
}

/** Answers what is final, but first lets the next statement go: while PostgreSQL works on it, this process writes replies. */
function settle(
  { onStored, onMilestone }: AttemptOptions,
  batch: readonly Sending[],
  rows: readonly SendRow[],
): Unsettled[] {
  const unsettled: Unsettled[] = []
  const answers: (() => void)[] = []
  let stored = 0
  for (const [n, outcome, seq, userName, answer] of rows) {
    const sending = batch[n - 1]!
    const refusal = refusalOf(outcome, sending)
    if (outcome === 'stored') {
      stored++
      answers.push(() => sending.resolve(messageText(sending, seq!, userName!)))
      if (seq! % foldEvery === 0) onMilestone(sending.channelId!, seq!)
    } else if (outcome === 'repeated') {
      answers.push(() => sending.resolve(answer!))
    } else if (refusal) {
      answers.push(() => sending.reject(refusal))
    } else {
      unsettled.push({ sending, outcome })
    }
  }
  setImmediate(() => {
    for (const give of answers) give()
    if (stored > 0) onStored(stored)
  })
  return unsettled
}

/** Whether the send may still be tried; it is refused when not. */
export function inTime(sending: Sending, now: number): boolean {
  if (now < sending.deadline) return true
  sending.reject(unavailable('The message could not be stored in time. Please try again'))
  return false
}

async function dropOutlivedKeys({ pool, clock }: AttemptOptions, unsettled: readonly Unsettled[]) {
  for (const { sending, outcome } of unsettled) {
    if (outcome !== 'outlived') continue
    await pool
      .query('delete from idempotency_keys where user_id = $1 and key = $2 and created_at <= $3', [
        sending.userId,
        sending.key,
        clock() - keyLifetimeMs,
      ])
      // It will be found outlived again.
      .catch(() => {})
  }
}
