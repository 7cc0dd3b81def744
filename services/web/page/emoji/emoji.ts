import { signal } from '@preact/signals'
import { language } from '../texts/texts.ts'
import { pauseAfter } from '../ui/retries.ts'
import type { Emoji, EmojiList } from './emoji-list.ts'

const list = signal<EmojiList | undefined>(undefined)
let loading: Promise<void> | undefined
let failures = 0
let timer: ReturnType<typeof setTimeout> | undefined

/**
 * Loads the list of emoji once. When that fails, the list stays empty. The next call tries again, and the page retries automatically
 * after a pause that grows.
 */
export function loadEmoji(): Promise<void> {
  loading ??= import('./loaded-list.ts').then(
    ({ emojiList }) => {
      list.value = emojiList
    },
    () => {
      loading = undefined
      clearTimeout(timer)
      timer = setTimeout(() => void loadEmoji(), pauseAfter(++failures))
    },
  )
  return loading
}

/** Loads the list now, if it could not be loaded before. */
export function retryEmoji() {
  if (failures > 0) void loadEmoji()
}

/** The emoji of a short name. Undefined for unknown names, and until the list is loaded. */
export function emojiByName(name: string): string | undefined {
  if (!list.value) void loadEmoji()
  return list.value?.byName(name)
}

/** The emoji of a short name, or the name as it was written. */
export const emojiOrName = (name: string): string => emojiByName(name) ?? `:${name}:`

/** The name of an emoji in the language of the page. It is the short name in English, and until the list is loaded. */
export function nameOfEmoji(shortName: string): string {
  if (language.value !== 'en') void loadEmoji()
  return list.value?.nameOf(shortName) ?? shortName
}

/** An emoji with a skin tone. It stays yellow until the list is loaded. */
export const withTone: EmojiList['withTone'] = (one, tone) => list.value?.withTone(one, tone) ?? one.emoji

export const allEmoji = (): readonly Emoji[] => list.value?.all ?? []

/** Finds emoji by the text of a short name or search word. It finds none until the list is loaded. */
export const findEmoji = (text: string, most: number): Emoji[] => list.value?.find(text, most) ?? []
