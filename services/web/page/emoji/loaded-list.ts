import listed from 'virtual:emoji'
import { effect, signal } from '@preact/signals'
import { type Language, language } from '../texts/texts.ts'
import { pauseAfter } from '../ui/retries.ts'
import { createEmojiList } from './emoji-list.ts'

export { newest } from 'virtual:emoji'

/** The other languages that have search words. Arabic has none, because `emojibase-data` does not have it. */
const others: Partial<Record<Language, () => Promise<{ default: readonly string[] }>>> = {
  de: () => import('virtual:emoji-words-de'),
}
const words = signal<readonly string[]>([])
export const emojiList = createEmojiList(listed, () => words.value)

effect(() => {
  const load = others[language.value]
  words.value = []
  if (!load) return
  let isCurrent = true
  let failures = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  const request = () =>
    load().then(
      ({ default: loaded }) => {
        if (isCurrent) words.value = loaded
      },
      () => {
        if (isCurrent) timer = setTimeout(request, pauseAfter(++failures))
      },
    )
  void request()
  return () => {
    isCurrent = false
    clearTimeout(timer)
  }
})
