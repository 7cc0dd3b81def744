import { choiceKey, type EmojiChoice, emojiChoice, maxRecent } from './emoji-choice.ts'
import type { Tone } from './tones.ts'

export function setTone(tone: Tone) {
  keep({ ...emojiChoice.value, tone })
}

/** Makes an emoji the newest of the recently used ones. */
export function rememberEmoji(emoji: string, shortName: string) {
  const { recent: before, names: known, tone } = emojiChoice.value
  const recent = [emoji, ...before.filter((one) => one !== emoji)].slice(0, maxRecent)
  const named = Object.entries({ ...known, [emoji]: shortName }).filter(([one]) => recent.includes(one))
  keep({ tone, recent, names: Object.fromEntries(named) })
}

function keep(choice: EmojiChoice) {
  emojiChoice.value = choice
  try {
    localStorage.setItem(choiceKey(), JSON.stringify(choice))
  } catch {
    // The browser cannot store anything, so the choice lasts as long as the page is open.
  }
}
