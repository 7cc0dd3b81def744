import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { readEmoji } from './emoji-list.ts'

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
