import { expect, test } from 'vitest'
import { foldedFurther, foldText } from './search-text.ts'

test('foldedFurther is all that folding changes in what is lower-case and NFKC', () => {
  const changed = new Set<string>()
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    const key = String.fromCodePoint(code).normalize('NFKC').toLowerCase().normalize('NFKC')
    for (const character of key) if (foldText(character) !== character) changed.add(character)
  }
  expect([...changed].sort()).toEqual(foldedFurther.toSorted())
})
