import type { Connection } from '@parley/database'
import { unlessSilent } from './run-send.ts'
import { type SendRow, sendValues, sendWaiting } from './send-statement.ts'
import type { Sending } from './sending.ts'

/**
 * Sends whose statement was given to a connection that broke before it answered: they were stored, or not, or the
 * statement still runs. Whoever holds the channels' locks knows: a statement that got them before has ended, one that
 * comes later finds the message ids taken and is rolled back. So: lock, look which ids exist, store the rest.
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
    await client.query(unlessSilent({ text: lockChannels, values: [batch.map(({ channelId }) => channelId)] }))
    const { rows: found } = await client.query<{ id: string; seq: number; user_name: string }>(
      unlessSilent({ text: findStored, values: [batch.map(({ id }) => id)] }),
    )
    const places = new Map(batch.map(({ id }, index) => [id, index + 1]))
    const rows: SendRow[] = found.map(({ id, seq, user_name }) => [places.get(id)!, 'stored', seq, user_name, null])
    const stored = new Set(found.map(({ id }) => id))
    const rest = batch.filter(({ id }) => !stored.has(id))
    if (rest.length > 0) {
      const query = unlessSilent({ ...sendWaiting, values: sendValues(rest, now), rowMode: 'array' as const })
      const { rows: sent } = await client.query<SendRow>(query)
      for (const [n, ...judged] of sent) rows.push([places.get(rest[n - 1]!.id)!, ...judged])
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
  select m.id, m.seq, u.user_name from messages m join users u on u.id = m.author_id
  where m.id = any($1::uuid[])`
