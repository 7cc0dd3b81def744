import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesOf, emptySequence, type FrameSequence, followedBy, joinShared } from './frame-sequence.ts'

const readers = 6
/** The receivers of a frame: everybody, or some people. */
const frameAudience = fc.oneof(fc.constant('everybody' as const), fc.uniqueArray(fc.nat(readers - 1)))

test('every stream gets exactly its frames, in order, and equal frames share the same bytes', () => {
  fc.assert(
    fc.property(fc.array(frameAudience, { maxLength: 12 }), (audiences) => {
      const shared: Buffer[] = []
      const root = emptySequence()
      const sequences: (FrameSequence | null)[] = Array.from({ length: readers }, () => null)
      const expected = Array.from({ length: readers }, () => '')

      for (const [index, audience] of audiences.entries()) {
        const text = `frame ${index};`
        const frame = Buffer.from(text)
        const chosen = audience === 'everybody' ? expected.keys() : audience
        for (const reader of chosen) expected[reader] += text
        if (audience === 'everybody') shared.push(frame)
        else
          for (const reader of audience) sequences[reader] = followedBy(sequences[reader] ?? root, frame, shared.length)
      }

      const joined = joinShared(shared)
      const got = sequences.map((sequence) => (sequence ? bytesOf(sequence, joined) : joined.bytes))
      expect(got.map(String)).toEqual(expected)
      for (const [one, bytes] of got.entries()) {
        for (const [other, text] of expected.entries()) {
          if (text === expected[one] && text !== '') expect(got[other]).toBe(bytes)
        }
      }
    }),
  )
})
