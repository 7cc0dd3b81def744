import { createTurns } from '@parley/service'
import { expect, test } from 'vitest'

test('a task that waits too long for its turn is refused with 503 and never runs; the next one runs', async () => {
  const inTurn = createTurns({ waitMs: 10 })
  const done: string[] = []
  const held = Promise.withResolvers<void>()
  const holder = inTurn('channel', () => held.promise)
  const refused = inTurn('channel', async () => void done.push('refused'))
  await expect(refused).rejects.toMatchObject({ status: 503, retryAfter: 1 })
  held.resolve()
  // Its own time did not end, although it took longer than the others may wait.
  await holder
  await inTurn('channel', async () => void done.push('next'))
  expect(done).toEqual(['next'])
})

test('tasks of one key run one after the other, also after one that fails, and other keys do not wait', async () => {
  const inTurn = createTurns()
  const done: string[] = []
  const held = Promise.withResolvers<void>()
  const first = inTurn('channel', async () => {
    await held.promise
    throw new Error('refused by the database')
  })
  const second = inTurn('channel', async () => done.push('second'))
  await inTurn('other channel', async () => done.push('other channel'))
  expect(done).toEqual(['other channel'])
  held.resolve()
  await expect(first).rejects.toThrow('refused by the database')
  expect(await second).toBe(2)
})
