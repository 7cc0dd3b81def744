import { expect, test } from 'vitest'
import { createUploadMemory, type Reservation } from './upload-memory.ts'

const sizes = { maxTotal: 100, maxOfOne: 40, uploadsOfOne: 4, slow: 1e9, newMs: 0, everyMs: 1 }

test('further uploads of a person who uses their share wait, and do not delay other people', async () => {
  const memory = createUploadMemory(sizes)
  const first = await memory.reserve('cat', 30)
  let second: Reservation | undefined
  const waits = memory.reserve('cat', 30).then((reservation) => {
    second = reservation
  })
  const others = [await memory.reserve('bob', 40), await memory.reserve('ann', 20)]
  expect(second).toBeUndefined()
  first.release()
  first.release()
  await waits
  for (const reservation of [second!, ...others]) reservation.release()
  await memory.reserve('dan', 100)
})

test('a person with too many uploads is refused', async () => {
  const memory = createUploadMemory(sizes)
  const reservations = await Promise.all([1, 2, 3, 4].map(() => memory.reserve('cat', 10)))
  await expect(memory.reserve('cat', 10)).rejects.toMatchObject({ status: 429, retryAfter: 5 })
  reservations[0]!.release()
  await memory.reserve('cat', 10)
})

test('while an upload waits, the slowest body loses its memory, and no complete or faster one does', async () => {
  const memory = createUploadMemory(sizes)
  const [slow, slowest, here] = [
    await memory.reserve('a', 40),
    await memory.reserve('b', 40),
    await memory.reserve('c', 20),
  ]
  // The durations depend on the machine, but a body without a byte is always the slowest.
  slow.received(20)
  slowest.received(0)
  here.complete()
  const withdrawn = () => [slow, slowest, here].map(({ withdrawn }) => withdrawn.aborted)
  slowest.withdrawn.addEventListener('abort', () => slowest.release())
  await memory.reserve('d', 40)
  expect(withdrawn()).toEqual([false, true, false])
})

test('an upload that waits too long is refused, to be sent again', async () => {
  const memory = createUploadMemory({ ...sizes, waitMs: 1, slow: 0 })
  const reservation = await memory.reserve('a', 100)
  await expect(memory.reserve('b', 1)).rejects.toMatchObject({ status: 503, retryAfter: 5 })
  expect(reservation.withdrawn.aborted).toBe(false)
})
