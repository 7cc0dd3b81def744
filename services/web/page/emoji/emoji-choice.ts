import { signal } from '@preact/signals'
import { propertiesOf, readStoredValue } from '../ui/stored-value.ts'
import { type Tone, tones } from './tones.ts'

export interface EmojiChoice {
  /** The recently used emoji, the newest first. */
  recent: readonly string[]
  /** The short names of the recently used emoji. */
  names: Readonly<Record<string, string>>
  tone: Tone
}

export const maxRecent = 24
const defaults: EmojiChoice = { recent: [], names: {}, tone: 0 }
/** The quick emoji until the person has used others: emoji and short names as in the picker. */
const usual = { '\u{1f44d}\ufe0f': '+1', '\u2764\ufe0f': 'heart', '\u{1f602}': 'joy' }
const maxQuick = 3

/** The recently used emoji and the skin tone of the person, stored in this browser. `forgetStored` removes them at a sign-out. */
export const emojiChoice = signal<EmojiChoice>(defaults)
let key = ''
/** The key of the stored choice. It is a function, because parts that are loaded later get only the first value of a variable. */
export const choiceKey = () => key

/** The emoji that are offered on every message: the recently used ones, each with its short name. */
export function quickEmoji(): readonly { emoji: string; shortName: string }[] {
  const { recent, names } = emojiChoice.value
  const used = recent.flatMap((emoji) => (Object.hasOwn(names, emoji) ? [[emoji, names[emoji]!] as const] : []))
  // The same emoji in several skin tones is offered once.
  const byName = new Map<string, string>()
  for (const [emoji, name] of [...used, ...Object.entries(usual)]) if (!byName.has(name)) byName.set(name, emoji)
  return [...byName].slice(0, maxQuick).map(([shortName, emoji]) => ({ emoji, shortName }))
}

/** Reads the stored choice of a person who has signed in. */
export function readEmojiChoice(userId: string) {
  key = `parley.emoji ${userId}`
  emojiChoice.value = read()
}

/** Reads the stored choice. It keeps only values that this version knows, because another version may have stored others. */
function read(): EmojiChoice {
  const { recent, names, tone } = propertiesOf(readStoredValue(key))
  return {
    names: Object.fromEntries(Object.entries(names ?? {}).filter(([, name]) => typeof name === 'string')),
    recent: Array.isArray(recent) ? recent.filter((one) => typeof one === 'string').slice(0, maxRecent) : [],
    tone: tones.find((one) => one === tone) ?? 0,
  }
}
