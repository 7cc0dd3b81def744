import { expect, test } from 'vitest'
import { createSeals } from './seals.ts'

const [old, fresh] = ['an-old-secret-of-more-than-32-characters', 'a-new-secret-of-more-than-32-characters']
const text = '{"token":"Überraschung"}'

test('a sealed text can be opened with its secret, even after a rotation', () => {
  const sealed = createSeals([old!]).seal(text)
  expect(Buffer.from(sealed, 'base64').toString('latin1')).not.toMatch(/token/)
  expect(createSeals([old!]).seal(text)).not.toBe(sealed)
  expect(createSeals([fresh!, old!]).open(sealed)).toBe(text)
  expect(createSeals([fresh!]).open(sealed)).toBeUndefined()
})

test('a changed text cannot be opened', () => {
  const seals = createSeals([old!])
  const bytes = Buffer.from(seals.seal(text), 'base64')
  bytes[bytes.length - 1]! ^= 1
  for (const sealed of [bytes.toString('base64'), '', 'x', text]) expect(seals.open(sealed)).toBeUndefined()
})

test('a text has one fingerprint for each secret, in their order', () => {
  const [ofOld, ...others] = createSeals([old!]).fingerprints(text)
  const [ofFresh] = createSeals([fresh!]).fingerprints(text)
  expect(others).toEqual([])
  expect(ofOld).toMatch(/^[0-9a-f]{64}$/)
  expect(ofFresh).not.toBe(ofOld)
  expect(createSeals([fresh!, old!]).fingerprints(text)).toEqual([ofFresh, ofOld])
  expect(createSeals([old!]).fingerprints(`${text} `)).not.toEqual([ofOld])
})
