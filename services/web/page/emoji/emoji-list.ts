import { type Tone, tones } from './tones.ts'

export interface Emoji {
  emoji: string
  /** The names that are written between colons. The most usual one is the first. */
  shortNames: readonly string[]
  words: string
  /** The number of its Unicode group. */
  group: number
  hasTones: boolean
  /** Of an emoji of two people: its form with the tones `light` and `medium light`. */
  pair?: string | undefined
}

/** An emoji as the build writes it. */
export type ListedEmoji = readonly [
  emoji: string,
  shortNames: readonly string[],
  words: string,
  group: number,
  hasTones: 0 | 1,
  pair?: string,
]

export type EmojiList = ReturnType<typeof createEmojiList>

/**
 * All emoji in the order of Unicode, and the ways to find them. `wordsOfLanguage` returns for each emoji of the list its name in another
 * language, and its search words in the next line.
 */
export function createEmojiList(listed: readonly ListedEmoji[], wordsOfLanguage: () => readonly string[] = () => []) {
  const all = listed.map(
    ([emoji, shortNames, words, group, hasTones, pair]): Emoji => ({
      emoji,
      shortNames,
      words,
      group,
      hasTones: hasTones === 1,
      pair,
    }),
  )
  const byShortName = new Map(all.flatMap((one) => one.shortNames.map((name) => [name, one] as const)))
  const orderOf = new Map(all.map((one, index) => [one, index]))

  return {
    all: all as readonly Emoji[],
    withTone,

    /** The name of the emoji with this short name in the other language. Without one it is the short name. */
    nameOf(shortName: string): string {
      const one = byShortName.get(shortName)
      return (one && wordsOfLanguage()[orderOf.get(one)!]?.split('\n')[0]) || shortName
    },

    /** The emoji of a short name, which may have a skin tone: `wave` or `wave::skin-tone-3`. */
    byName(written: string): string | undefined {
      const [name = '', tone] = written.toLowerCase().split('::')
      const one = byShortName.get(name)
      if (!one || tone === undefined) return one?.emoji
      const toned = toneForms(one).find((form) => form.tone === tone)
      if (toned) return toned.emoji
      // A skin tone is itself an emoji. It follows an emoji that cannot have it.
      const alone = byShortName.get(tone)
      return alone && `${one.emoji}${alone.emoji}`
    },

    /**
     * Finds emoji whose short name begins with the text, and then those with the text in a short name or search word. After `name::`
     * it finds the skin tones of that emoji.
     */
    find(text: string, most: number): Emoji[] {
      const [, name, begun] = /^:?([^\s:]+)::([^\s:]*):?$/.exec(text.trim().toLowerCase()) ?? []
      if (name !== undefined) return findToneForms(byShortName.get(name), name, begun!).slice(0, most)
      const wanted = text.trim().toLowerCase().replaceAll(/^:|:$/g, '')
      if (wanted === '') return all.slice(0, most)
      const more = wordsOfLanguage()
      const rankOf = ({ shortNames, words }: Emoji, index: number) => {
        if (shortNames.includes(wanted)) return 0
        if (shortNames.some((name) => name.startsWith(wanted))) return 1
        if (shortNames.some((name) => name.includes(wanted)) || words.includes(wanted)) return 2
        return more[index]?.toLowerCase().includes(wanted) ? 2 : 3
      }
      return all
        .map((emoji, index) => ({ emoji, rank: rankOf(emoji, index) }))
        .filter(({ rank }) => rank < 3)
        .sort((a, b) => a.rank - b.rank)
        .slice(0, most)
        .map(({ emoji }) => emoji)
    },
  }
}

export function withTone({ emoji, hasTones }: { emoji: string; hasTones: boolean }, tone: Tone): string {
  if (tone === 0 || !hasTones) return emoji
  const [first = '', ...rest] = emoji
  return `${first}${toneCharacter(tone)}${rest.join('').replace(/^\ufe0f/, '')}`
}

/** The character that gives the emoji before it a skin tone from 1 to 5. */
const toneCharacter = (tone: Tone) => String.fromCodePoint(0x1f3fa + tone)

interface ToneForm {
  /** As in a short name. Slack numbers the tones from 2 (light) to 6 (dark). */
  tone: string
  emoji: string
}

/** The forms of an emoji with skin tones. Of two people, those with the same tone come first. */
function toneForms(one: Emoji): ToneForm[] {
  const { hasTones, pair } = one
  const all = tones.slice(1)
  const same = all.map((tone) => ({
    tone: `skin-tone-${tone + 1}`,
    emoji: hasTones ? withTone(one, tone) : ofPair(pair, tone, tone),
  }))
  if (pair === undefined) return hasTones ? same : []
  const mixed = all.flatMap((first) =>
    all
      .filter((second) => second !== first)
      .map((second) => ({ tone: `skin-tone-${first + 1}-${second + 1}`, emoji: ofPair(pair, first, second) })),
  )
  return [...same, ...mixed]
}

const ofPair = (pair = '', first: Tone, second: Tone) =>
  pair.replace(/[\u{1f3fb}\u{1f3fc}]/gu, (tone) => toneCharacter(tone === toneCharacter(1) ? first : second))

/** The forms of an emoji whose skin tone begins as the person has typed it, each with its own short name. */
const findToneForms = (one: Emoji | undefined, name: string, begun: string): Emoji[] =>
  one
    ? toneForms(one)
        .filter(({ tone }) => tone.startsWith(begun))
        .map(({ tone, emoji }) => ({ ...one, emoji, shortNames: [`${name}::${tone}`], hasTones: false }))
    : []
