import { expect, test } from 'vitest'
import { createUploadMemory, type Share } from './memory.ts'

const sizes = { most: 100, mostOfOne: 40, uploadsOfOne: 4, slow: 1e9, newMs: 0, everyMs: 1 }

test('one person has a part of the memory, and their others wait without holding up anybody', async () => {
  const memory = createUploadMemory(sizes)
  const first = await memory.take('cat', 30)
  let second: Share | undefined
  const waits = memory.take('cat', 30).then((share) => {
    second = share
  })
  const others = [await memory.take('bob', 40), await memory.take('ann', 20)]
  expect(second).toBeUndefined()
  first.release()
  first.release()
  await waits
  for (const share of [second!, ...others]) share.release()
  await memory.take('dan', 100)
})

test('one person has so many uploads under way, and no more', async () => {
  const memory = createUploadMemory(sizes)
  const shares = await Promise.all([1, 2, 3, 4].map(() => memory.take('cat', 10)))
  await expect(memory.take('cat', 10)).rejects.toMatchObject({ status: 429, retryAfter: 5 })
  shares[0]!.release()
  await memory.take('cat', 10)
})

test('while somebody waits, what comes slowest makes room; not what is here, and nobody else', async () => {
  const memory = createUploadMemory(sizes)
  const [slow, slowest, here] = [await memory.take('a', 40), await memory.take('b', 40), await memory.take('c', 20)]
  // How long each has been coming is up to the machine: nothing is slower than nothing.
  slow.came(20)
  slowest.came(0)
  here.whole()
  const lateAre = () => [slow, slowest, here].map(({ late }) => late.aborted)
  slowest.late.addEventListener('abort', () => slowest.release())
  await memory.take('d', 40)
  expect(lateAre()).toEqual([false, true, false])
})

test('who waits too long is told to come again', async () => {
  const memory = createUploadMemory({ ...sizes, waitMs: 1, slow: 0 })
  const share = await memory.take('a', 100)
  await expect(memory.take('b', 1)).rejects.toMatchObject({ status: 503, retryAfter: 5 })
  expect(share.late.aborted).toBe(false)
})
