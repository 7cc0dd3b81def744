import { createLogger } from '@parley/telemetry'
import { createDatabase, type TestDatabase } from '@parley/test'
import Fastify from 'fastify'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { type Check, databaseCheck, serveHealth } from './health.ts'

let database: TestDatabase
let check: Check
beforeAll(async () => {
  database = await createDatabase(1)
})
beforeEach(async () => {
  check = databaseCheck(database)
  await check.run()
})
afterAll(() => database.drop())

/** Somebody has the only connection, and somebody else waits for it. The check waits behind them. */
async function checkBehindOthers() {
  const served = await database.pool.connect()
  const waiting = database.pool.connect()
  const checked = check.run()
  await expect.poll(() => database.pool.waitingCount).toBe(2)
  return { served, waiting, checked }
}

test('PostgreSQL is available when it answers others, although the check gets no connection', async () => {
  const { served, waiting, checked } = await checkBehindOthers()
  served.release()
  const next = await waiting
  onTestFinished(() => next.release())
  await expect(checked).resolves.toBeUndefined()
})

test('PostgreSQL is unavailable when it answers nobody', async () => {
  const { served, waiting, checked } = await checkBehindOthers()
  const none = expect(waiting).rejects.toThrow('timeout exceeded')
  await expect(checked).rejects.toThrow('timeout exceeded')
  await none
  served.release()
})

test('the loss of a dependency and its return are logged once, however often readiness is asked', async () => {
  const lines: object[] = []
  const destination = { write: (line: string) => lines.push(JSON.parse(line)) }
  const logger = createLogger({ service: 'test', level: 'info', destination })
  let failure: Error | undefined
  const run = async () => {
    if (failure) throw failure
  }
  const app = Fastify()
  onTestFinished(() => app.close())
  serveHealth(app, { checks: { store: { required: true, run } }, logger, isDraining: () => false })
  const statuses = async () => {
    const responses = [await app.inject('/health/ready'), await app.inject('/health/ready')]
    return responses.map(({ statusCode }) => statusCode)
  }

  expect(await statuses()).toEqual([200, 200])
  failure = new Error('it does not answer')
  expect(await statuses()).toEqual([503, 503])
  failure = undefined
  expect(await statuses()).toEqual([200, 200])
  expect(lines).toMatchObject([
    { level: 'warn', msg: 'a dependency is unavailable', dependency: 'store', err: { message: 'it does not answer' } },
    { level: 'info', msg: 'a dependency is available again', dependency: 'store' },
  ])
})
