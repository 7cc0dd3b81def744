import { expect, test } from 'vitest'
import { foldedFurther, foldText } from './search-text.ts'

test('foldedFurther has every character that foldText changes in a lower-case NFKC text', () => {
  const changed = new Set<string>()
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    const key = String.fromCodePoint(code).normalize('NFKC').toLowerCase().normalize('NFKC')
    for (const character of key) if (foldText(character) !== character) changed.add(character)
  }
  expect([...changed].sort()).toEqual(foldedFurther.toSorted())
})

test.each(['\u0301\u0323', '\uff9e\u0301', '\u0344'])('of a pile of %j only the first thirty marks count', (marks) => {
  const pile = marks.repeat(8_000)
  expect(foldText(`q${pile}x`)).toBe(foldText(`q${pile.slice(0, 30)}x`))
  expect(foldText(`q${pile.slice(0, 30)}x`)).not.toBe(foldText(`q${pile.slice(0, 29)}x`))
})

test('every character whose decomposition begins with a mark is limited', () => {
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    const character = String.fromCodePoint(code)
    const isReordered = /^\p{M}/u.test(character.normalize('NFKD')) && !/^\p{M}|[\u0e33\u0eb3]/u.test(character)
    if (isReordered) expect(foldText(`q${character.repeat(31)}`)).toBe(foldText(`q${character.repeat(30)}`))
  }
})
