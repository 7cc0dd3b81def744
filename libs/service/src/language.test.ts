import { expect, test } from 'vitest'
import { languageIn, languageOf } from './language.ts'

test.each([
  [undefined, undefined],
  ['', undefined],
  ['*', undefined],
  ['de', 'de'],
  ['de-AT,de;q=0.9,en;q=0.8', 'de'],
  ['fr-FR, fr;q=0.9, AR;q=0.5, en;q=0.4', 'ar'],
  ['en;q=0.1, de;q=0.9', 'de'],
  ['de;q=0, en', 'en'],
  ['fr, *;q=0.1', undefined],
  ['deutsch', undefined],
  [';;q=,,x'.repeat(1_000), undefined],
])('Accept-Language %j asks for %s', (header, language) => {
  expect(languageOf({ headers: { 'accept-language': header } })).toBe(language)
})

test.each([
  [null, undefined],
  ['', undefined],
  ['de_AT', 'de'],
  ['AR-eg', 'ar'],
  ['da, en-gb;q=0.8', 'en'],
  ['nds', undefined],
])('the language of a directory %j is %s', (text, language) => {
  expect(languageIn(text)).toBe(language)
})
