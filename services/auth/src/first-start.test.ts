import { openDeps } from '@parley/service'
import { createLogger } from '@parley/telemetry'
import { configWithoutServers } from '@parley/test'
import { expect, onTestFinished, test } from 'vitest'
import { createFirstStart } from './first-start.ts'

/** The set-up of the first start, while PostgreSQL is unavailable. */
async function withoutDatabase() {
  const { deps, close } = openDeps('auth', await configWithoutServers())
  onTestFinished(close)
  const lines: string[] = []
  const logger = createLogger({ service: 'auth', level: 'info', destination: { write: (line) => lines.push(line) } })
  const firstStart = createFirstStart({ ...deps, logger })
  onTestFinished(firstStart.stop)
  return { firstStart, lines }
}

test('the first start is tried again while the database is unavailable', async () => {
  const { firstStart, lines } = await withoutDatabase()
  await firstStart.start()
  expect(lines).toEqual([expect.stringContaining('is tried again')])
})

test('the first start is not tried again when the service stops during an attempt', async () => {
  const { firstStart, lines } = await withoutDatabase()
  const attempt = firstStart.start()
  await firstStart.stop()
  await attempt
  expect(lines).toEqual([])
})
