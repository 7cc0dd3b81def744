export interface Emoji {
  emoji: string
  /** The names that are written between colons. The most usual one is the first. */
  shortNames: readonly string[]
  words: string
  /** The number of its Unicode group. */
  group: number
  hasTones: boolean
}

/** An emoji as the build writes it. */
export type ListedEmoji = readonly [
  emoji: string,
  shortNames: readonly string[],
  words: string,
  group: number,
  hasTones: 0 | 1,
]

export type EmojiList = ReturnType<typeof createEmojiList>

/** All emoji in the order of Unicode, and the ways to find them. */
export function createEmojiList(listed: readonly ListedEmoji[]) {
  const all = listed.map(
    ([emoji, shortNames, words, group, hasTones]): Emoji => ({
      emoji,
      shortNames,
      words,
      group,
      hasTones: hasTones === 1,
    }),
  )
  const byShortName = new Map(all.flatMap((one) => one.shortNames.map((name) => [name, one] as const)))

  return {
    all: all as readonly Emoji[],

    byName: (name: string): string | undefined => byShortName.get(name.toLowerCase())?.emoji,

    /** Finds emoji whose short name begins with the text, and then those with the text in a short name or search word. */
    find(text: string, most: number): Emoji[] {
      const wanted = text.trim().toLowerCase().replaceAll(/^:|:$/g, '')
      if (wanted === '') return all.slice(0, most)
      const rankOf = ({ shortNames, words }: Emoji) => {
        if (shortNames.includes(wanted)) return 0
        if (shortNames.some((name) => name.startsWith(wanted))) return 1
        return shortNames.some((name) => name.includes(wanted)) || words.includes(wanted) ? 2 : 3
      }
      return all
        .map((emoji) => ({ emoji, rank: rankOf(emoji) }))
        .filter(({ rank }) => rank < 3)
        .sort((a, b) => a.rank - b.rank)
        .slice(0, most)
        .map(({ emoji }) => emoji)
    },
  }
}
