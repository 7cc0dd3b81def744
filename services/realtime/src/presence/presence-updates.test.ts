import { expect, test } from 'vitest'
import { createPresenceLog, isRoundDue, type Part } from './presence-updates.ts'

const change = (userId: string, changedBy: number, status: 'online' | 'away' | 'offline' = 'online') => ({
  userId,
  status,
  lastSeen: 1,
  changedBy,
})
const inside = ({ bytes }: Part) =>
  [...String(bytes).matchAll(/"userId":"(\w+)","status":"(\w+)"/g)].map(([, ...found]) => found)

test('takes at most a limited number of people, in the order of their changes', () => {
  const log = createPresenceLog()
  log.add(['a', 'b', 'c', 'd', 'e'].map((userId, index) => change(userId, index)))
  const [first, second] = [log.take(0, 3), log.take(3, 3)]
  expect(inside(first)).toEqual([
    ['a', 'online'],
    ['b', 'online'],
    ['c', 'online'],
  ])
  expect(inside(second)).toEqual([
    ['d', 'online'],
    ['e', 'online'],
  ])
  expect([first.upTo, second.upTo, log.head]).toEqual([3, 5, 5])
})

test('has only the newest update of each person', () => {
  const log = createPresenceLog()
  log.add([change('a', 1), change('b', 2), change('a', 3, 'away'), change('a', 3, 'away'), change('b', 1, 'offline')])
  const part = log.take(0, 10)
  expect(inside(part)).toEqual([
    ['b', 'online'],
    ['a', 'away'],
  ])
  expect(part.upTo).toBe(log.head)
  expect(log.take(part.upTo, 10).people).toBe(0)
})

test('keeps updates that some stream has not received, and those that may be read again', () => {
  const log = createPresenceLog()
  log.add([change('a', 1), change('b', 2), change('c', 9)])
  log.forget(1, 5)
  expect(inside(log.take(0, 10))).toEqual([
    ['b', 'online'],
    ['c', 'online'],
  ])
  log.forget(log.head, 5)
  expect(inside(log.take(0, 10))).toEqual([['c', 'online']])
  log.add([change('c', 9)])
  expect(log.head).toBe(3)
})

test('streams get updates once in a period, and every ten seconds while many clients reconnect at once', () => {
  expect(isRoundDue({ waitedMs: 200, period: 500, isSurging: false })).toBe(false)
  expect(isRoundDue({ waitedMs: 500, period: 500, isSurging: false })).toBe(true)
  expect(isRoundDue({ waitedMs: 5_000, period: 500, isSurging: true })).toBe(false)
  expect(isRoundDue({ waitedMs: 10_000, period: 500, isSurging: true })).toBe(true)
})
