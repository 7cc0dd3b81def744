import { describe, expect, test } from 'vitest'
import { automaticNames, nameKey, readName, readUserName, toValidName } from './names.ts'

const refusal = expect.objectContaining({ status: 400 })

describe('the name of a person', () => {
  test.each([
    ['  Ann  ', 'Ann'],
    ['Ann   Lee', 'Ann Lee'],
    ['Ａｎｎ', 'Ann'],
    ['Ann\u00A0Lee', 'Ann Lee'],
    ['Ann \u200D', 'Ann'],
    ['\uFE0FAnn', 'Ann'],
    ['Ann \u200C Lee', 'Ann Lee'],
    ['Żółć', 'Żółć'],
    ['محمد', 'محمد'],
    ['नरेश', 'नरेश'],
    ['a'.repeat(64), 'a'.repeat(64)],
    ['😀'.repeat(64), '😀'.repeat(64)],
  ])('%j is stored as %j', (text, stored) => expect(readUserName(text)).toBe(stored))

  test.each([
    ['nothing', ''],
    ['spaces', '   '],
    ['a joiner alone', '\u200D'],
    ['a control character', 'An\u0007n'],
    ['a line break', 'An\nn'],
    ['a bidirectional override', 'Ann\u202E'],
    ['a zero-width space', 'An\u200Bn'],
    ['a soft hyphen', 'An\u00ADn'],
    ['a letter that is blank', '\u3164'],
    ['a blank of Braille', '\u2800'],
    ['a tag', 'Ann\u{E0041}'],
    ['half a character', 'Ann\uD83D'],
    ['too many characters', 'a'.repeat(65)],
    ['too many emoji', '😀'.repeat(65)],
    ['too many after normalisation', '\uFDFA'.repeat(10)],
    ['the word that calls everybody', 'Channel'],
    ['what begins with @', '@ann'],
    ['what begins with a wide @', '\uFF20ann'],
    ['what begins with @ after a joiner', '\u200D@ann'],
    ['what begins with @ after a variation selector and a space', '\uFE0F @ann'],
    ['the word that calls everybody, with a Cyrillic с', '\u0441hannel'],
    ['the same with a joiner in it', 'chan\u200Dnel'],
    ['the other word, in wide letters', 'ｈｅｒｅ'],
  ])('%s is refused', (_, text) => expect(() => readUserName(text)).toThrow(refusal))

  test('ignores case, width and invisible characters', () => {
    expect(nameKey('ＡＮＮ Äß')).toBe(nameKey('ann äß'))
    expect(nameKey('Ann\u200D\uFE0F')).toBe(nameKey('ann'))
  })

  test('may have the characters that emoji and scripts need', () => {
    for (const name of ['👩\u200D💻 Ann', 'Ann ❤\uFE0F', 'می\u200Cخواهم']) expect(readUserName(name)).toBe(name)
  })

  test('the words of mentions are free for other things', () => {
    expect(readName('Channel', 'name', 80)).toBe('Channel')
  })
})

/** Normalising the whole text would move its last mark before the others, and would block the process when it is long. */
const manyMarks = `a${'\u0301'.repeat(1_000)}\u0327`

test('an automatic name of a text with many marks is shortened before it is normalised', () => {
  const [name] = automaticNames(manyMarks, 1, 1)
  expect(name).toBe(`á${'\u0301'.repeat(63)}`)
})

describe('a name of another system', () => {
  test('with many marks is shortened before it is normalised', () => {
    expect(toValidName(manyMarks, 100)).toBe(`á${'\u0301'.repeat(99)}`)
  })

  test('has as many characters as fit when it is composed', () => {
    expect(toValidName(`  ${'\u1F82'.normalize('NFD').repeat(101)}`, 100)).toBe('\u1F82'.repeat(100))
  })
})

describe('automatic names', () => {
  test.each([
    ['ann', ['ann', 'ann2', 'ann3']],
    ['\u202E\u0000', ['user', 'user2', 'user3']],
    ['here', ['here2', 'here3']],
    ['@ @ann', ['ann', 'ann2', 'ann3']],
    ['\u200D@\uFE0F@ann', ['ann', 'ann2', 'ann3']],
  ])('for %j', (base, names) => expect(automaticNames(base, 1, 3)).toEqual(names))

  test('never grow too long, and never cut a character in two', () => {
    const [first, second] = automaticNames('😀'.repeat(70), 1, 2)
    expect([first, second]).toEqual(['😀'.repeat(64), `${'😀'.repeat(63)}2`])
  })
})
