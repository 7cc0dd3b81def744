import { connectDatabase } from '@parley/database'
import { expect, test } from 'vitest'
import { openStepConnection } from './relay.step.ts'
import { stage } from './stage.fixture.ts'

const { held } = stage()

test('a connection that is lost before it is set up goes back to the pool, which could not end without it', async () => {
  const { pool, close } = connectDatabase({
    url: held.database.url,
    poolSize: 1,
    applicationName: 'test',
    onIdleError: () => {},
  })
  pool.on('acquire', (client) => void client.end())
  await expect(openStepConnection(pool)).rejects.toThrow('not queryable')
  expect(pool.totalCount).toBe(0)
  await close()
})
