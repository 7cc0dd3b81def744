import { expect, test } from 'vitest'
import { serverText } from './texts.ts'

test.each([
  ['userName must not be empty', 'The user name must not be empty'],
  ['filename must end in one of: pdf, txt', 'The filename must end in one of: pdf, txt'],
  ['topic is longer than 250 characters', 'The topic is longer than 250 characters'],
  ['There is already a channel with this name', 'There is already a channel with this name'],
])('in English, a sentence of the server names a field in words: %s', (sentence, shown) => {
  expect(serverText(sentence)).toBe(shown)
})
