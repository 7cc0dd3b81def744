import { describe, expect, test } from 'vitest'
import { looksLike } from './name-skeleton.ts'

describe('names that differ only by look-alike letters of another script', () => {
  test.each([
    ['a Cyrillic а', '\u0430dmin', 'admin'],
    ['a Cyrillic А, in capitals', '\u0410DMIN', 'ADMIN'],
    ['a Cyrillic І at the beginning', '\u0406van', 'Ivan'],
    ['a Cyrillic А, beside a small one', '\u0410DMIN', 'admin'],
    ['a Cyrillic В at the beginning', '\u0412ob', 'bob'],
    ['a Greek ο', 'b\u03BFb', 'bob'],
    ['all letters of another script', '\u0441\u043E\u0441\u043E', 'coco'],
    ['a Latin letter in a Cyrillic name', 'Ив\u0061н', 'Иван'],
    ['the same letters in other places', 'p\u0430ypal', 'payp\u0430l'],
    ['a letter with an accent', '\u0430nn\u00E9', 'ann\u00E9'],
    ['a letter of a script that has capitals only', '\uA4EEdmin', 'admin'],
    ['a phonetic letter', '\u0251dmin', 'admin'],
    ['a joiner besides', '\u0430d\u200Dmin', 'admin'],
  ])('%s', (_, one, other) => {
    expect(looksLike(one, other)).toBe(true)
    expect(looksLike(other, one)).toBe(true)
  })

  test.each([
    ['the same name', 'admin', 'admin'],
    ['other names', 'anna', 'hanna'],
    ['letters of one script', 'modern', 'modem'],
    ['a digit and a letter', 'user1', 'userl'],
    ['Hebrew letters alike', 'דן', 'דו'],
    ['a Cyrillic name and a Latin one', 'Иван', 'Ivan'],
    ['a name in two scripts and another', 'Иван QA', 'Ivan QA'],
    ['an accent', 'Zoe', 'Zoë'],
  ])('are not: %s', (_, one, other) => expect(looksLike(one, other)).toBe(false))
})
