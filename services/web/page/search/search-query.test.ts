import { expect, test } from 'vitest'
import {
  exampleOfOperators,
  formatQuery,
  hasUnknownOperator,
  operators,
  parseQuery,
  textOfWords,
} from './search-query.ts'

test.each([
  ['two words', 'two words'],
  ['"a  phrase"', 'a phrase'],
  ['“a phrase” of a phone', 'a phrase of a phone'],
  ['of „einem Satz“ here', 'of einem Satz here'],
  ['a 19" rack and a 5" disk', 'a 19" rack and a 5" disk'],
  ['say:"hello"', 'say:"hello"'],
  ['"" ', ''],
])('%s searches for %s', (typed, searched) => {
  expect(textOfWords(parseQuery(typed).words)).toBe(searched)
})

test('operators outside of a phrase are filters, and those in a phrase are text', () => {
  const query = parseQuery('"mail from:ann" from:“Ann Lee” in:#harbour')
  expect(query).toEqual({ words: '"mail from:ann"', filters: { from: 'Ann Lee', in: 'harbour' } })
  expect(parseQuery(formatQuery(query))).toEqual(query)
})

test.each([
  ['has:file tides', true],
  ['tides after:yesterday', true],
  ['tides from:', true],
  ['before:29.11.2026 tides', true],
  ['tides from:ann', false],
  ['"has:file" tides', false],
  ['https://example.com at 12:30', false],
])('%s has an unknown operator: %s', (typed, isUnknown) => {
  expect(hasUnknownOperator(typed)).toBe(isUnknown)
})

test('the example of the operators has each of them', () => {
  const { words, filters } = parseQuery(exampleOfOperators)
  expect([words, Object.keys(filters).sort()]).toEqual(['', [...operators].sort()])
})
