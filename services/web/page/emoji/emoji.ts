import { signal } from '@preact/signals'
import { pauseAfter } from '../ui/problems.ts'

export interface Emoji {
  emoji: string
  /** The names that are written between colons. The most usual one is the first. */
  shortNames: readonly string[]
  words: string
  /** The number of its Unicode group. */
  group: number
  hasTones: boolean
}

const all = signal<readonly Emoji[]>([])
const byShortName = signal<ReadonlyMap<string, string>>(new Map())
let loading: Promise<void> | undefined
let failures = 0
let timer: ReturnType<typeof setTimeout> | undefined

/**
 * Loads the list of emoji once. When that fails, the list stays empty. The next call tries again, and the page retries automatically
 * after a pause that grows.
 */
export function loadEmoji(): Promise<void> {
  loading ??= import('virtual:emoji').then(
    ({ default: list }) => {
      all.value = list.map(([emoji, shortNames, words, group, hasTones]) => ({
        emoji,
        shortNames,
        words,
        group,
        hasTones: hasTones === 1,
      }))
      byShortName.value = new Map(
        list.flatMap(([emoji, shortNames]) => shortNames.map((name) => [name, emoji] as const)),
      )
    },
    () => {
      loading = undefined
      clearTimeout(timer)
      timer = setTimeout(() => void loadEmoji(), pauseAfter(++failures))
    },
  )
  return loading
}

/** The emoji of a short name. Undefined for unknown names, and until the list is loaded. */
export function emojiByName(name: string): string | undefined {
  if (byShortName.value.size === 0) void loadEmoji()
  return byShortName.value.get(name.toLowerCase())
}

export const allEmoji = () => all.value

/** A skin tone of Unicode, from 1 (light) to 5 (dark); with 0 the emoji stays yellow. */
export type Tone = 0 | 1 | 2 | 3 | 4 | 5
export const tones: readonly Tone[] = [0, 1, 2, 3, 4, 5]

export function withTone({ emoji, hasTones }: Pick<Emoji, 'emoji' | 'hasTones'>, tone: Tone): string {
  if (tone === 0 || !hasTones) return emoji
  const [first = '', ...rest] = emoji
  return `${first}${String.fromCodePoint(0x1f3fa + tone)}${rest.join('').replace(/^\ufe0f/, '')}`
}

/** Finds emoji whose short name begins with the text, and then those with the text in a short name or search word. */
export function findEmoji(text: string, most: number): Emoji[] {
  const wanted = text.trim().toLowerCase().replaceAll(/^:|:$/g, '')
  if (wanted === '') return all.value.slice(0, most)
  const rankOf = ({ shortNames, words }: Emoji) => {
    if (shortNames.includes(wanted)) return 0
    if (shortNames.some((name) => name.startsWith(wanted))) return 1
    return shortNames.some((name) => name.includes(wanted)) || words.includes(wanted) ? 2 : 3
  }
  return all.value
    .map((emoji) => ({ emoji, rank: rankOf(emoji) }))
    .filter(({ rank }) => rank < 3)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, most)
    .map(({ emoji }) => emoji)
}
