import { t } from '../texts/texts.ts'
import { undrawable } from './drawable.ts'
import { allEmoji, findEmoji, withTone } from './emoji.ts'
import type { Emoji } from './emoji-list.ts'
import { tones } from './tones.ts'

export interface EmojiCategory {
  name: string
  face: string
  found: readonly Emoji[]
}

/** The numbered groups of Unicode, without group 2, whose emoji are only parts of other emoji. */
const categories = (): [group: number, name: string, face: string][] => [
  [0, t('Smileys and emotion'), '😀'],
  [1, t('People and body'), '👋'],
  [3, t('Animals and nature'), '🐻'],
  [4, t('Food and drink'), '🍎'],
  [5, t('Travel and places'), '✈️'],
  [6, t('Activities'), '⚽'],
  [7, t('Objects'), '💡'],
  [8, t('Symbols'), '❤️'],
  [9, t('Flags'), '🏳️'],
]

/** The picker offers only emoji that the browser can draw. */
const isOffered = ({ emoji }: Emoji) => !undrawable.value.has(emoji)
/** The offered emoji with this text in a short name or search word. */
export const findOffered = (text: string, most: number) => findEmoji(text, Infinity).filter(isOffered).slice(0, most)

/** The recently used emoji, and then all offered ones by category. */
export function categoriesOf(recent: readonly string[]): EmojiCategory[] {
  const all = allEmoji().filter(isOffered)
  const byEmoji = new Map(all.flatMap((one) => tones.map((tone) => [withTone(one, tone), one] as const)))
  const used = recent.flatMap((emoji) => {
    const one = byEmoji.get(emoji)
    // It keeps the skin tone with which it was used.
    return one ? { ...one, emoji, hasTones: false } : []
  })
  return [
    ...(used.length > 0 ? [{ name: t('Recently used'), face: '🕘', found: used }] : []),
    ...categories().map(([group, name, face]) => ({ name, face, found: all.filter((one) => one.group === group) })),
  ]
}
