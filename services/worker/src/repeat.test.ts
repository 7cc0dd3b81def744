import { Writable } from 'node:stream'
import { createLogger } from '@parley/telemetry'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { repeat } from './repeat.ts'
import { eventually, workerEnvironment } from './worker.testing.ts'

const held = workerEnvironment()

test('a statement that exceeds its time limit is logged, although PostgreSQL may be only busy then', async () => {
  const lines: { msg: string; err: { code: string } }[] = []
  const destination = new Writable({
    write(line, _encoding, done) {
      lines.push(JSON.parse(String(line)))
      done()
    },
  })
  const logger = createLogger({ service: 'worker', level: 'error', destination })
  const work = async () => {
    await held.deps.db.transaction().execute(async (trx) => {
      await sql`set local statement_timeout = 1`.execute(trx)
      await sql`select pg_sleep(10)`.execute(trx)
    })
  }
  const repeated = repeat(work, { pauseMs: 10, logger, failure: 'the work failed' })
  await eventually(() => expect(lines[0]).toMatchObject({ msg: 'the work failed', err: { code: '57014' } }))
  await repeated.stop()
})
