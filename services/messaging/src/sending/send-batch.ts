import { setTimeout as delay } from 'node:timers/promises'
import { type Connection, keyLifetimeMs } from '@parley/database'
import { inSpan, spanAttribute, spanName } from '@parley/telemetry'
import { type BatchOptions, resolveLostAnswer } from './lost-answer.ts'
import { sendFailure, sendInHalves } from './send-failure.ts'
import { settleSends, type Unanswered } from './send-outcomes.ts'
import { type SendRow, type SendStatement, sendQuery } from './send-statement.ts'
import type { Sending } from './sending.ts'

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
  const unanswered = settleSends(batch, rows, options.onStored)
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

/** Settles the sends of a failed statement as far as possible. Returns the others. */
async function recover(
  options: BatchOptions,
  batch: readonly Sending[],
  statement: SendStatement,
  error: unknown,
): Promise<Unanswered[]> {
  const failure = sendFailure(error)
  switch (failure) {
    case 'lost':
      options.logger.warn(
        { err: error, sends: batch.length },
        'the connection was lost before a shared send was answered',
      )
      return resolveLostAnswer(options, batch)
    case 'transient':
      await delay(50)
      return batch.map((sending) => ({ sending, outcome: undefined }))
    default:
      return sendInHalves(batch, { failure, error }, (half) => sendBatch(options, half, statement))
  }
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
