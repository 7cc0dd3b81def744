import { expect, test } from 'vitest'
import { createFairQueue, QueueFull } from './fair-queue.ts'

/** A queue that runs one piece of work at a time. The first piece runs until `open` is called. */
function closedQueue(waiting: number) {
  const queue = createFairQueue({ atOnce: 1, waiting })
  const order: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = queue.run({ lane: 'first', client: 'first' }, () => gate.promise)
  const ask = (lane: string, client: string, name = `${lane} ${client}`) =>
    queue
      .run({ lane, client }, async () => {
        order.push(name)
      })
      .then(
        () => 'done',
        (error) => (error instanceof QueueFull ? 'refused' : Promise.reject(error)),
      )
  const open = async () => {
    gate.resolve()
    await first
  }
  return { ask, open, order }
}

test('lanes get turns alternately, and in a lane its clients', async () => {
  const { ask, open, order } = closedQueue(10)
  const asked = [
    ...[1, 2, 3].map((n) => ask('registration', 'one', `registration of one ${n}`)),
    ask('registration', 'two', 'registration of two'),
    ...[1, 2].map((n) => ask('sign-in', 'one', `sign-in of one ${n}`)),
    ask('sign-in', 'three', 'sign-in of three'),
  ]
  await open()
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['done']))
  expect(order).toEqual([
    'registration of one 1',
    'sign-in of one 1',
    'registration of two',
    'sign-in of three',
    'registration of one 2',
    'sign-in of one 2',
    'registration of one 3',
  ])
})

test('a full lane refuses nobody in another lane', async () => {
  const { ask, open } = closedQueue(2)
  const asked = [1, 2, 3].map(() => ask('registration', 'one'))
  const other = ask('sign-in', 'one')
  await open()
  expect([await Promise.all(asked), await other]).toEqual([['done', 'done', 'refused'], 'done'])
})

test('a client with many waiting requests gives up the newest for a client with few', async () => {
  const { ask, open, order } = closedQueue(3)
  const many = [1, 2, 3].map((n) => ask('sign-in', 'many', `many ${n}`))
  const few = [ask('sign-in', 'few'), ask('sign-in', 'few')]
  await open()
  expect(await Promise.all([...many, ...few])).toEqual(['done', 'done', 'refused', 'done', 'refused'])
  expect(order).toEqual(['many 1', 'sign-in few', 'many 2'])
})

test('work that fails hands its place on', async () => {
  const queue = createFairQueue({ atOnce: 1, waiting: 1 })
  const turn = { lane: 'any', client: 'any' }
  const failing = queue.run(turn, () => Promise.reject(new Error('broken')))
  const next = queue.run(turn, async () => 'done')
  await expect(failing).rejects.toThrow('broken')
  expect(await next).toBe('done')
  expect(await queue.run(turn, async () => 'again')).toBe('again')
})
