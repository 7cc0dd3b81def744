import { expect, test } from 'vitest'
import { readUnchanged } from './read-unchanged.ts'

test('a value that changes while it is read is read again', async () => {
  let version = 1
  const readAt: number[] = []
  const value = await readUnchanged(
    () => String(version),
    async () => {
      readAt.push(version)
      if (version < 3) version++
      return readAt.length
    },
  )
  expect(value).toBe(3)
  expect(readAt).toEqual([1, 2, 3])
})

test('a failed read is not repeated', async () => {
  const read = () =>
    readUnchanged(
      () => '',
      () => Promise.reject(new Error('refused')),
    )
  await expect(read()).rejects.toThrow('refused')
})
