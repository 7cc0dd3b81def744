/** A skin tone of Unicode, from 1 (light) to 5 (dark); with 0 the emoji stays yellow. */
export type Tone = 0 | 1 | 2 | 3 | 4 | 5
export const tones: readonly Tone[] = [0, 1, 2, 3, 4, 5]

export function withTone({ emoji, hasTones }: { emoji: string; hasTones: boolean }, tone: Tone): string {
  if (tone === 0 || !hasTones) return emoji
  const [first = '', ...rest] = emoji
  return `${first}${toneCharacter(tone)}${rest.join('').replace(/^\ufe0f/, '')}`
}

/** The character that gives the emoji before it a skin tone from 1 to 5. */
export const toneCharacter = (tone: Tone) => String.fromCodePoint(0x1f3fa + tone)
