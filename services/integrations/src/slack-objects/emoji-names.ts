import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** An emoji in the data of Emojibase. `hexcode` has its code points, without variation selectors. */
interface EmojiData {
  hexcode: string
  unicode: string
  /** The emoji with skin tones. */
  skins?: EmojiData[]
}

const require = createRequire(import.meta.url)
const customName = /^[a-z0-9_+-]+$/
const withoutColons = (text: string) => /^:(\S+):$/.exec(text)?.[1] ?? text
/** Programs may leave out the character that asks for a coloured picture. */
const withoutVariation = (emoji: string) => emoji.replaceAll('\ufe0f', '')
/** Read at the first use, so that importing this file has no side effects. */
let names: ReturnType<typeof readNames> | undefined
const emojiNames = () => {
  names ??= readNames()
  return names
}

/**
 * The name of a reaction as Slack writes it: `+1::skin-tone-3`. Reactions are emoji in Unicode, or `:name:`. A text that
 * is neither stays as it is.
 */
export function slackReactionName(reaction: string): string {
  const { emojiByName, nameByEmoji } = emojiNames()
  const name = withoutColons(reaction)
  return nameByEmoji.get(withoutVariation(emojiByName.get(name) ?? reaction)) ?? name
}

/**
 * The reaction for a name of Slack: the emoji as the web client writes it. An unknown name becomes `:name:`, and a text
 * that cannot be a name becomes undefined.
 */
export function reactionOf(name: string): string | undefined {
  const bare = withoutColons(name)
  return emojiNames().emojiByName.get(slackReactionName(bare)) ?? (customName.test(bare) ? `:${bare}:` : undefined)
}

/** Reads the names of iamcal/emoji-data, which Slack uses. The first name of an emoji is the one that Slack sends. */
function readNames() {
  const read = (file: string) => JSON.parse(readFileSync(require.resolve(`emojibase-data/en/${file}.json`), 'utf8'))
  const names: Record<string, string | string[]> = read('shortcodes/iamcal')
  const emojiByName = new Map<string, string>()
  const nameByEmoji = new Map<string, string>()
  for (const { hexcode, unicode, skins = [] } of read('compact') as EmojiData[]) {
    for (const name of [names[hexcode] ?? []].flat()) {
      for (const [suffix, emoji] of [['', unicode], ...skins.map(toneOf)] as const) {
        emojiByName.set(`${name}${suffix}`, emoji)
        const plain = withoutVariation(emoji)
        if (!nameByEmoji.has(plain)) nameByEmoji.set(plain, `${name}${suffix}`)
      }
    }
  }
  return { emojiByName, nameByEmoji }
}

/** The part of a name that names the skin tone. Slack numbers them from 2 (light) to 6. Two people may have two tones. */
function toneOf({ hexcode, unicode }: EmojiData): [suffix: string, emoji: string] {
  const tones = [...hexcode.matchAll(/1F3F([B-F])/g)].map(([, digit]) => Number.parseInt(digit!, 16) - 9)
  return [`::skin-tone-${[...new Set(tones)].join('-')}`, unicode]
}
