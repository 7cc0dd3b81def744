import { expect, test } from 'vitest'
import { readCursor, writeCursor } from './cursor.ts'

test('a cursor is read as it was written', () => {
  const cursor = { epoch: 'a1b2c3d4e5f6', pos: 1234 }
  expect(readCursor(writeCursor(cursor))).toEqual(cursor)
})

test.each([
  undefined,
  '',
  'x',
  '.',
  'a.',
  '.1',
  'a.-1',
  'a.01',
  'a.1.2',
  'a.1e3',
  'a.9999999999999999',
  'a b.1',
  'a.1\n',
])('%j is no cursor', (text) => expect(readCursor(text)).toBeNull())
