import { expect, test } from 'vitest'
import { checkLag } from './check-lag.ts'
import type { Reading } from './history.ts'
import { ann, bob, eve, historyByHand } from './history-by-hand.ts'

const { history, reads, makes, says, does, tick } = historyByHand()

/** The checker's complaints about readers when the last fault has just ended and bob gets a message only later. */
function complaints(deliver: (late: Reading[]) => void, withinMs: number) {
  const readers = [reads(ann), reads(bob), reads(eve)]
  makes('open', { told: readers })
  says(ann, 'open', 1, readers.slice(0, 1))
  const at = tick()
  deliver(readers.slice(1))
  const found: string[] = []
  checkLag(history, { at, place: 'open', withinMs }, (_promise, what) => void found.push(what.split(' ')[0]!))
  return found
}

test('readers with all messages soon after the last fault are up to date', () => {
  expect(complaints((late) => says(ann, 'open', 2, late), 10)).toEqual([])
})

test('a reader who gets them later, or never, is not', () => {
  expect(complaints(() => {}, 10)).toEqual([bob, eve])
})

test('readers who had to leave are ignored', () => {
  expect(complaints(() => does(ann, { kind: 'remove', user: eve }), 10)).toEqual([bob])
})
