import { describe, expect, test } from 'vitest'
import { candidatesOfMentions } from './mentions.ts'

describe('candidatesOfMentions', () => {
  test.each([
    ['hello @bob', [['bob']]],
    ['@Bob, hello', [['bob']]],
    ['(@bob) [@ann] {@cat}', [['bob'], ['ann'], ['cat']]],
    ['@bob @ann', [['bob'], ['ann']]],
    ['one\n@bob\ttwo', [['bob']]],
    ['thanks @bob...', [['bob...', 'bob..', 'bob.', 'bob']]],
    ['@ann marie is', [['ann marie is', 'ann marie', 'ann']]],
    ['@j.r_r-t. says', [['j.r_r-t. says', 'j.r_r-t.', 'j.r_r-t']]],
    ['@Ωmega @日本 @ＢＯＢ', [['ωmega'], ['日本'], ['bob']]],
    [
      "@O'Neil, @d’ann",
      [
        ["o'neil", 'o'],
        ['d’ann', 'd'],
      ],
    ],
    [
      "@bob's and @ann lee's.",
      [
        ["bob's and", "bob's", 'bob'],
        ["ann lee's.", "ann lee's", 'ann lee', 'ann'],
      ],
    ],
    ['@ann+dev @ann+ @ann++dev', [['ann+dev', 'ann'], ['ann'], ['ann']]],
    ['(@Ann (HR))', [['ann (hr)', 'ann (hr', 'ann']]],
    ['@ann (see below', [['ann']]],
    ['@Ann(HR) Lee', [['ann(hr) lee', 'ann(hr)', 'ann(hr', 'ann']]],
    ['@Bob 🎉 !', [['bob 🎉', 'bob']]],
    ['@bob🎉', [['bob🎉', 'bob']]],
    ['mail ann@example.com', []],
    ['"@bob" @ @@ -@bob', []],
    ['@...', [['...', '..', '.']]],
  ])('%j', (content, places) => {
    expect(candidatesOfMentions(content)).toEqual(places)
  })

  test('shortens long runs of combining marks, which take long to sort', () => {
    const pile = '\u0301\u0323'.repeat(40)
    expect(candidatesOfMentions(`@q${pile}x`)).toEqual([[`q${pile.slice(0, 30)}x`.normalize('NFKC')]])
  })

  test('considers no longer names than there may be, and no more places than are worth a query', () => {
    expect(candidatesOfMentions(`@${'a '.repeat(5000)}`)[0]).toHaveLength(33)
    const longest = '𐌰'.repeat(64)
    expect(candidatesOfMentions(`@${longest}`)).toEqual([[longest]])
    expect(candidatesOfMentions('@a '.repeat(5000)).length).toBeLessThanOrEqual(100)
  })
})
