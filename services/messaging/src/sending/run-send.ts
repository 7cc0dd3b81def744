import type { Connection } from '@parley/database'
import { inSpan, spanAttribute, spanName } from '@parley/telemetry'
import { sendFailure } from './send-failure.ts'
import { type SendRow, type SendStatement, sendValues } from './send-statement.ts'
import type { Sending } from './sending.ts'

/** A statement ends after 30 s by itself; a connection that says nothing for longer is dead. */
export const unlessSilent = <Query extends object>(query: Query) => ({ ...query, query_timeout: 35_000 })

/** Runs the shared statement once. Throws what the database or the connection says. */
export async function runSend(
  pool: Connection['pool'],
  batch: readonly Sending[],
  statement: SendStatement,
  now: number,
): Promise<SendRow[]> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    const query = unlessSilent({ ...statement, values: sendValues(batch, now), rowMode: 'array' as const })
    const { rows } = await inTraceOf(batch, () => client.query<SendRow>(query))
    return rows
  } catch (error) {
    if (sendFailure(error) === 'lost') broken = error as Error
    throw error
  } finally {
    client.release(broken)
  }
}

/** The statement belongs to the first send that is traced, and links to the others. Without tracing there is nothing to do. */
function inTraceOf<T>(batch: readonly Sending[], run: () => T): T {
  const parent = batch.find(({ trace }) => trace !== null)?.trace
  if (!parent) return run()
  const links = batch.map(({ trace }) => trace).filter((trace) => trace !== parent)
  return inSpan(spanName.sendBatch, { parent, links, attributes: { [spanAttribute.batchSize]: batch.length } }, run)
}
