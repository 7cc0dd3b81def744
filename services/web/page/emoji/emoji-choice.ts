import { signal } from '@preact/signals'
import { type Tone, tones } from './emoji.ts'

interface EmojiChoice {
  /** The last ones that were used, the newest first. */
  recent: readonly string[]
  /** Short names of the newest ones. */
  names: Readonly<Record<string, string>>
  tone: Tone
}

const key = 'parley.emoji'
const mostRecent = 24
const byDefault: EmojiChoice = { recent: [], names: {}, tone: 0 }
/** Offered until somebody has used others: emoji and short names as the picker has them. */
const usual = { '\u{1f44d}\ufe0f': '+1', '\u2764\ufe0f': 'heart', '\u{1f602}': 'joy' }
const mostQuick = 3

/** What this browser remembers of the use of emoji. Signing out forgets it. */
export const emojiChoice = signal<EmojiChoice>(read())

export function setTone(tone: Tone) {
  keep({ ...emojiChoice.value, tone })
}

/** Puts an emoji before all that were used earlier. */
export function rememberEmoji(emoji: string, shortName: string) {
  const { recent: before, names: known, tone } = emojiChoice.value
  const recent = [emoji, ...before.filter((one) => one !== emoji)].slice(0, mostRecent)
  const named = Object.entries({ ...known, [emoji]: shortName }).filter(([one]) => recent.includes(one))
  keep({ tone, recent, names: Object.fromEntries(named) })
}

/** What is offered on every message: the last ones that were used, each with its short name. */
export function quickEmoji(): readonly { emoji: string; shortName: string }[] {
  const { recent, names } = emojiChoice.value
  const used = recent.flatMap((emoji) => (Object.hasOwn(names, emoji) ? [[emoji, names[emoji]!] as const] : []))
  // The same emoji in several skin tones is offered once.
  const byName = new Map<string, string>()
  for (const [emoji, name] of [...used, ...Object.entries(usual)]) if (!byName.has(name)) byName.set(name, emoji)
  return [...byName].slice(0, mostQuick).map(([shortName, emoji]) => ({ emoji, shortName }))
}

export function forgetEmoji() {
  localStorage.removeItem(key)
  emojiChoice.value = byDefault
}

function keep(choice: EmojiChoice) {
  emojiChoice.value = choice
  try {
    localStorage.setItem(key, JSON.stringify(choice))
  } catch {
    // The browser stores nothing: it is remembered as long as the page is open.
  }
}

/** Only what this version knows: an older or newer one may have stored something else. */
function read(): EmojiChoice {
  try {
    const { recent, names, tone } = JSON.parse(localStorage.getItem(key) ?? '{}') as Record<string, unknown>
    return {
      names: Object.fromEntries(Object.entries(names ?? {}).filter(([, name]) => typeof name === 'string')),
      recent: Array.isArray(recent) ? recent.filter((one) => typeof one === 'string').slice(0, mostRecent) : [],
      tone: tones.find((one) => one === tone) ?? 0,
    }
  } catch {
    return byDefault
  }
}
