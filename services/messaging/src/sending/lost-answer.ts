import type { Connection } from '@parley/database'
import { personJson } from './new-message.ts'
import { type SendRow, sendQuery, sendWaiting, withTimeout } from './send-statement.ts'
import type { Sending } from './sending.ts'

/**
 * Finds the outcomes of sends whose connection was lost before their statement responded. The statement may have been committed or rolled
 * back, or it may still run. Therefore this transaction first locks the channels. A statement that locked them earlier has ended
 * by then. A statement that locks them later finds the message ids in use, and is rolled back. Messages that are not stored yet are
 * stored here.
 */
export async function sendAfterLostAnswer(
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
