import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { createEmojiList } from '../page/emoji/emoji-list.ts'
import { readEmoji, readWords } from './emoji-list.ts'

const require = createRequire(import.meta.url)
const read = (name: string) => JSON.parse(readFileSync(require.resolve(`emojibase-data/en/${name}.json`), 'utf8'))
const { list } = readEmoji()
const namesOf = (set: string) =>
  Object.entries<string | string[]>(read(`shortcodes/${set}`)).flatMap(([hexcode, names]) =>
    [names].flat().map((name) => [name, hexcode] as const),
  )
const unicodeOf = new Map(
  (read('compact') as { hexcode: string; unicode: string }[]).map(({ hexcode, unicode }) => [hexcode, unicode]),
)

test('a short name is of one emoji only', () => {
  const names = list.flatMap(([, shortNames]) => shortNames)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})

test('every short name of Slack shows the emoji that Slack shows', () => {
  const byShortName = new Map(list.flatMap(([emoji, shortNames]) => shortNames.map((name) => [name, emoji] as const)))
  const names = namesOf('iamcal')
  expect(names.length).toBeGreaterThan(1900)
  const others = names.filter(([name, hexcode]) => byShortName.get(name) !== unicodeOf.get(hexcode))
  expect(others).toEqual([])
  const shown = ['sunglasses', 'dog', 'cat', 'computer'].map((name) => byShortName.get(name))
  expect(shown).toEqual(['😎', '🐶', '🐱', '💻️'])
})

test('the short name that is shown for an emoji is the one that Slack sends', () => {
  const shown = new Map(list.map(([emoji, [first]]) => [emoji, first]))
  expect(['👍️', '🤔', '🐕️', '🕶️'].map((emoji) => shown.get(emoji))).toEqual([
    '+1',
    'thinking_face',
    'dog2',
    'dark_sunglasses',
  ])
})

test('names of other sets are added', () => {
  const shown = new Map(list.map(([emoji, shortNames]) => [emoji, shortNames]))
  expect(shown.get('🎉')).toEqual(['tada', 'party', 'party_popper'])
})

test('every short name of Slack has the skin tones that Slack has', () => {
  const { byName } = createEmojiList(list)
  const skinsOf = new Map(
    (read('compact') as { hexcode: string; skins?: { hexcode: string; unicode: string }[] }[]).map(
      ({ hexcode, skins = [] }) => [hexcode, skins],
    ),
  )
  const toned = namesOf('iamcal').flatMap(([name, hexcode]) =>
    skinsOf.get(hexcode)!.map((skin) => [`${name}::skin-tone-${tonesIn(skin.hexcode)}`, skin.unicode] as const),
  )
  expect(toned.length).toBeGreaterThan(1800)
  expect(toned.filter(([name, emoji]) => byName(name) !== emoji)).toEqual([])
  expect(byName('thumbsup::skin-tone-3')).toBe('👍🏼')
})

/** The numbers of the skin tones, from 2 (light) to 6. Two people with the same tone have one number. */
const tonesIn = (hexcode: string) =>
  [...new Set([...hexcode.matchAll(/1F3F([B-F])/g)].map(([, digit]) => ' BCDEF'.indexOf(digit!) + 1))].join('-')

test('a skin tone after an emoji without skin tones is a second emoji, as in Slack', () => {
  const { byName } = createEmojiList(list)
  expect(byName('tada::skin-tone-3')).toBe('🎉🏼')
  for (const name of ['tada::skin-tone-2-3', 'thumbsup::skin-tone-7', 'nothing::skin-tone-3']) {
    expect([name, byName(name)]).toEqual([name, undefined])
  }
})

test('the search finds the skin tones of an emoji after its name', () => {
  const { find } = createEmojiList(list)
  const found = (text: string) => find(text, 8).map(({ emoji, shortNames }) => `${emoji} ${shortNames[0]}`)
  const all = ['👍🏻', '👍🏼', '👍🏽', '👍🏾', '👍🏿'].map(
    (emoji, index) => `${emoji} thumbsup::skin-tone-${index + 2}`,
  )
  expect(found('thumbsup::')).toEqual(all)
  expect(found(':thumbsup::skin-tone-3:')).toEqual([all[1]])
  expect(found('handshake::skin-tone-2-')).toContain('🫱🏻‍🫲🏿 handshake::skin-tone-2-6')
  expect(found('tada::')).toEqual([])
})

test('the search finds emoji by words of another language, after those with the text in a short name', () => {
  const words = readWords('de')
  expect([words.length, words.filter((each) => each === '')]).toEqual([list.length, []])
  const found = (text: string) => createEmojiList(list, () => words).find(text, 8)
  expect(found('Daumen hoch').map(({ emoji }) => emoji)).toEqual(['👍️'])
  expect(found('hund').map(({ emoji }) => emoji)).toContain('🐶')
  expect(found('tada')[0]!.emoji).toBe('🎉')
  expect(createEmojiList(list).find('daumen', 8)).toEqual([])
})

test('an emoji has a name in another language, and else its short name', () => {
  const german = createEmojiList(list, () => readWords('de'))
  expect(['+1', 'boat', 'no_such_name'].map(german.nameOf)).toEqual(['Daumen hoch', 'Segelboot', 'no_such_name'])
  expect(createEmojiList(list).nameOf('boat')).toBe('boat')
})
