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

/** The virtual module with the list of all emoji. It has 53 KB compressed, and is loaded when it is first needed. */
export const emojiList: Plugin = {
  name: 'emoji-list',
  resolveId: (id) => (id === 'virtual:emoji' ? '\0emoji' : null),
  load(id) {
    if (id !== '\0emoji') return null
    const { list, newest } = readEmoji()
    const code = `export default ${JSON.stringify(list)}\nexport const newest = ${JSON.stringify(newest)}`
    return { code, moduleType: 'js' }
  },
}

/** All emoji in the order of Unicode, and those of the newest versions of Unicode. */
export function readEmoji() {
  const shortNames = readShortNames()
  const shortNamesOf = (hexcode: string) => shortNames.get(hexcode) ?? []
  const named = (readData('compact') as EmojiData[])
    .filter(({ order, hexcode }) => order !== undefined && shortNamesOf(hexcode).length > 0)
    .sort((a, b) => a.order! - b.order!)
  const list = named.map(({ unicode, hexcode, label, tags = [], group = 0, skins = [] }): ListedEmoji => {
    const words = [label, ...tags].join(' ')
    const light = withTone({ emoji: unicode, hasTones: true }, 1)
    const hasTones = skins.some((skin) => skin.unicode === light) ? 1 : 0
    const pair = skins.find((skin) => tonesOfPair.test(skin.hexcode))?.unicode
    const listed = [unicode, shortNamesOf(hexcode), words, group, hasTones] as const
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

const readData = (name: string) =>
  JSON.parse(readFileSync(require.resolve(`emojibase-data/en/${name}.json`), 'utf8')) as unknown
