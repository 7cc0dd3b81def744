import { setTimeout as delay } from 'node:timers/promises'
import type { Connection } from '@parley/database'
import { createFailureLog, type Logger } from '@parley/telemetry'
import { type CommittedMessage, personJson } from './new-message.ts'
import { sendFailure, sendInHalves } from './send-failure.ts'
import { rejectLate, settleSends, type Unanswered } from './send-outcomes.ts'
import { type SendRow, sendQuery, sendWaiting, withTimeout } from './send-statement.ts'
import type { Sending } from './sending.ts'

export interface BatchOptions {
  pool: Connection['pool']
  logger: Logger
  /** Epoch milliseconds. */
  clock: () => number
  /** Called after each commit. */
  onStored: (stored: readonly CommittedMessage[]) => void
}

/** Asks until each send of a lost statement has an outcome, or its deadline has passed. Returns the sends without a final outcome. */
export async function resolveLostAnswer(options: BatchOptions, batch: readonly Sending[]): Promise<Unanswered[]> {
  const { pool, logger, clock, onStored } = options
  const unanswered: Unanswered[] = []
  const failures = createFailureLog(logger, 'the outcome of a shared send is still unknown')
  let unknown = batch
  for (let pause = 10; ; pause = Math.min(pause * 2, 500)) {
    unknown = unknown.filter((sending) => !rejectLate(sending, clock()))
    if (unknown.length === 0) return unanswered
    try {
      const rows = await sendAfterLostAnswer(pool, unknown, clock())
      // The lost statement itself may still hold the key while it waits for the locks of this transaction.
      const isUnsure = ([, outcome]: SendRow) => outcome === 'running'
      unanswered.push(
        ...settleSends(
          unknown,
          rows.filter((row) => !isUnsure(row)),
          onStored,
        ),
      )
      unknown = rows.filter(isUnsure).map(([n]) => unknown[n - 1]!)
      if (unknown.length === 0) return unanswered
    } catch (error) {
      const failure = sendFailure(error)
      if (failure === 'refused' || failure === 'overtaken') {
        const others = await sendInHalves(unknown, { failure, error }, (half) => resolveLostAnswer(options, half))
        return unanswered.concat(others)
      }
      failures.failed(error)
    }
    await delay(pause)
  }
}

/**
 * Finds the outcomes of sends whose connection was lost before their statement responded. The statement may have been committed or rolled
 * back, or it may still run. Therefore this transaction first locks the channels. A statement that locked them earlier has ended
 * by then. A statement that locks them later finds the message ids in use, and is rolled back. Messages that are not stored yet are
 * stored here.
 */
async function sendAfterLostAnswer(
  pool: Connection['pool'],
  batch: readonly Sending[],
  now: number,
): Promise<SendRow[]> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('begin')
    await client.query(withTimeout({ text: lockChannels, values: [batch.map(({ channelId }) => channelId)] }))
    const { rows: found } = await client.query<{ id: string; seq: number; author: string }>(
      withTimeout({ text: findStored, values: [batch.map(({ id }) => id)] }),
    )
    const numbers = new Map(batch.map(({ id }, index) => [id, index + 1]))
    const rows: SendRow[] = found.map(({ id, seq, author }) => [numbers.get(id)!, 'stored', seq, author, null])
    const stored = new Set(found.map(({ id }) => id))
    const rest = batch.filter(({ id }) => !stored.has(id))
    if (rest.length > 0) {
      const { rows: sent } = await client.query<SendRow>(sendQuery(sendWaiting, rest, now))
      for (const [n, ...result] of sent) rows.push([numbers.get(rest[n - 1]!.id)!, ...result])
    }
    await client.query('commit')
    return rows
  } catch (error) {
    broken = error as Error
    throw error
  } finally {
    client.release(broken)
  }
}

const lockChannels = 'select from channels where id = any($1::uuid[]) order by id for no key update'
const findStored = `
  select m.id, m.seq, ${personJson('u')} as author from messages m join users u on u.id = m.author_id
  where m.id = any($1::uuid[])`
