import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFrameReader, type SentEvent } from './frames.ts'

function read(pieces: string[]) {
  const events: SentEvent[] = []
  const retries: number[] = []
  const reader = createFrameReader({ onEvent: (event) => events.push(event), onRetry: (ms) => retries.push(ms) })
  for (const piece of pieces) reader.feed(piece)
  return { events, retries }
}

test('the reader reads events, comments and `retry`, with LF and with CRLF', () => {
  const text = ': hello\nretry: 2500\n\nid: 7\ndata: {"a":1}\n\ndata:one\r\ndata: two\r\n\r\nevent: x\nid: 8\n\n'
  expect(read([text])).toEqual({
    events: [
      { data: '{"a":1}', id: '7' },
      { data: 'one\ntwo', id: undefined },
    ],
    retries: [2500],
  })
})

test('the reader gets the same events wherever the text is split into pieces', () => {
  const line = fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replace(/[\r\n]/g, ''))
  const events = fc.array(fc.record({ id: line, data: fc.array(line, { minLength: 1, maxLength: 3 }) }), {
    maxLength: 5,
  })
  fc.assert(
    fc.property(events, fc.array(fc.nat(60)), fc.constantFrom('\n', '\r\n'), (sent, cuts, end) => {
      const text = sent
        .map(({ id, data }) => [`id: ${id}`, ...data.map((each) => `data: ${each}`), '', ''].join(end))
        .join('')
      const pieces: string[] = []
      let from = 0
      for (const cut of cuts) {
        pieces.push(text.slice(from, from + cut))
        from += cut
      }
      const expected = sent.map(({ id, data }) => ({ id, data: data.join('\n') }))
      expect(read([...pieces, text.slice(from)]).events).toEqual(expected)
    }),
  )
})
