import { expect, test } from 'vitest'
import { nextPeriod } from './missed-messages.ts'

const day = 86_400_000
const now = 100 * day

test.each([
  [
    'begins where the last one has ended, and ends before the time of waiting',
    now - 2_500,
    null,
    1_000,
    [now - 2_500, now - 1_000],
  ],
  ['has not ended when it is shorter than the time of waiting', now - 1_999, null, 1_000, undefined],
  ['that was begun keeps its end', now - 5_000, now - 3_000, 1_000, [now - 5_000, now - 3_000]],
  ['lasts a day at most after an outage', 0, null, 1_000, [now - 1_000 - day, now - 1_000]],
  [
    'loses nothing when it is longer than the longest time of waiting',
    now - 2 * day - 60_000,
    null,
    day,
    [now - 2 * day - 60_000, now - day],
  ],
  ['can last as long as the longest time of waiting', now - 2 * day, null, day, [now - 2 * day, now - day]],
] as const)('a period %s', (_, doneUntil, runningUntil, afterMs, expected) => {
  const period = nextPeriod({ doneUntil, runningUntil, now }, afterMs)
  expect(period && [period.from, period.until]).toEqual(expected)
})
