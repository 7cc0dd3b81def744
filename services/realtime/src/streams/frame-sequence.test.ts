import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesOf, createSharedFrames, type FrameSequence, followedBy, sharedSince } from './frame-sequence.ts'

const readers = 6
/** A frame for everybody or for some people, or a write to some streams, which then wait for nothing. */
const action = fc.oneof(
  fc.record({ frameFor: fc.constant('everybody' as const) }),
  fc.record({ frameFor: fc.uniqueArray(fc.nat(readers - 1)) }),
  fc.record({ writeTo: fc.uniqueArray(fc.nat(readers - 1)) }),
)

test('every stream gets exactly its frames, once and in order, and streams that wait for the same frames share the bytes', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 20 }), (actions) => {
      const shared = createSharedFrames()
      const waiting: (FrameSequence | null)[] = Array.from({ length: readers }, () => null)
      const got = Array.from({ length: readers }, () => '')
      const expected = Array.from({ length: readers }, () => '')

      const write = (chosen: Iterable<number>) => {
        const bytesByText = new Map<string, Buffer>()
        for (const reader of chosen) {
          if (waiting[reader] === null) continue
          const bytes = bytesOf(waiting[reader]!, shared)
          got[reader] += bytes.toString()
          waiting[reader] = null
          const key = `${expected[reader]} ${bytes}`
          expect(bytesByText.get(key) ?? bytes).toBe(bytes)
          bytesByText.set(key, bytes)
        }
        if (waiting.every((sequence) => sequence === null)) shared.forget(shared.next())
      }

      for (const [index, { frameFor, writeTo }] of actions
        .map((each) => ({ frameFor: undefined, writeTo: undefined, ...each }))
        .entries()) {
        const frame = Buffer.from(`frame ${index};`)
        const beginning = sharedSince(shared.next())
        if (writeTo) {
          write(writeTo)
        } else if (frameFor === 'everybody') {
          shared.add(frame)
          for (let reader = 0; reader < readers; reader++) {
            waiting[reader] ??= beginning
            expected[reader] += frame.toString()
          }
        } else {
          for (const reader of frameFor!) {
            waiting[reader] = followedBy(waiting[reader] ?? beginning, frame, shared.next())
            expected[reader] += frame.toString()
          }
        }
      }
      write(expected.keys())
      expect(got).toEqual(expected)
    }),
  )
})
