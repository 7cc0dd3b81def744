import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Plugin } from 'vite'
import { type ListedEmoji, withTone } from '../page/emoji/emoji-list.ts'

const require = createRequire(import.meta.url)

/** The version of Unicode from which on many fonts do not have all emoji. */
const firstNewVersion = 16
/** The skin tones of two people: light and medium light. */
const tonesOfPair = /1F3FB.*1F3FC/

interface EmojiData {
  unicode: string
  hexcode: string
  order?: number
  label: string
  tags?: string[]
  group?: number
  skins?: { unicode: string; hexcode: string }[]
}

/**
 * The virtual modules with the list of all emoji, and with their names and words in another language. They have 53 and 35 KB compressed, and are
 * loaded when they are first needed.
 */
export const emojiList: Plugin = {
  name: 'emoji-list',
  resolveId: (id) => (/^virtual:emoji(-words-\w+)?$/.test(id) ? `\0${id}` : null),
  load(id) {
    const [isOurs, language] = /^\0virtual:emoji(?:-words-(\w+))?$/.exec(id) ?? []
    if (isOurs === undefined) return null
    if (language !== undefined)
      return { code: `export default ${JSON.stringify(readWords(language))}`, moduleType: 'js' }
    const { list, newest } = readEmoji()
    const code = `export default ${JSON.stringify(list)}\nexport const newest = ${JSON.stringify(newest)}`
    return { code, moduleType: 'js' }
  },
}

/** The names of all emoji in another language, in the order of the list. Below each name are its search words. */
export function readWords(language: string): string[] {
  const all = readData('compact', language) as EmojiData[]
  const wordsOf = new Map(all.map(({ unicode, label, tags = [] }) => [unicode, `${label}\n${tags.join(' ')}`]))
  return readEmoji().list.map(([emoji]) => wordsOf.get(emoji) ?? '')
}

const joinWords = ({ label, tags = [] }: EmojiData) => [label, ...tags].join(' ')

/** All emoji in the order of Unicode, and those of the newest versions of Unicode. */
export function readEmoji() {
  const shortNames = readShortNames()
  const shortNamesOf = (hexcode: string) => shortNames.get(hexcode) ?? []
  const named = (readData('compact') as EmojiData[])
    .filter(({ order, hexcode }) => order !== undefined && shortNamesOf(hexcode).length > 0)
    .sort((a, b) => a.order! - b.order!)
  const list = named.map((one): ListedEmoji => {
    const { unicode, hexcode, group = 0, skins = [] } = one
    const light = withTone({ emoji: unicode, hasTones: true }, 1)
    const hasTones = skins.some((skin) => skin.unicode === light) ? 1 : 0
    const pair = skins.find((skin) => tonesOfPair.test(skin.hexcode))?.unicode
    const listed = [unicode, shortNamesOf(hexcode), joinWords(one), group, hasTones] as const
    return pair === undefined ? listed : [...listed, pair]
  })
  const versions = readData('data') as { hexcode: string; version: number }[]
  const newHexcodes = new Set(versions.flatMap(({ hexcode, version }) => (version >= firstNewVersion ? [hexcode] : [])))
  const newest = named.filter(({ hexcode }) => newHexcodes.has(hexcode)).map(({ unicode }) => unicode)
  return { list, newest }
}

/**
 * The short names of each emoji. Those of iamcal/emoji-data come first, because Slack uses them, and so does the Slack API of the server.
 * The same name may have different emoji in different sets, so a set adds only names that the sets before it do not have.
 */
function readShortNames() {
  const emojiByName = new Map<string, string>()
  for (const set of ['iamcal', 'github', 'emojibase']) {
    const added = Object.entries(readData(`shortcodes/${set}`) as Record<string, string | string[]>)
    for (const [hexcode, names] of added) {
      for (const name of [names].flat()) if (!emojiByName.has(name)) emojiByName.set(name, hexcode)
    }
  }
  const namesByEmoji = Map.groupBy(emojiByName, ([, hexcode]) => hexcode)
  return new Map([...namesByEmoji].map(([hexcode, names]) => [hexcode, names.map(([name]) => name)]))
}

const readData = (name: string, language = 'en') =>
  JSON.parse(readFileSync(require.resolve(`emojibase-data/${language}/${name}.json`), 'utf8')) as unknown
