/**
 * The word before the caret that can be completed: a person or group after `@`, a channel after `#`, an emoji after `:`, also with the
 * skin tone after `::`, or a command after `/`.
 */
export interface TypedWord {
  sign: '@' | '#' | ':' | '/'
  typed: string
  /** The beginning and the end of the word in the text, including the sign. */
  from: number
  to: number
}

const shortest = { '@': 0, '#': 0, ':': 2, '/': 0 } as const

export function wordBefore(text: string, caret: number): TypedWord | null {
  const before = text.slice(0, caret)
  // A command must be at the beginning of the text.
  const found = /^(\/)([\w-]*)$/.exec(before) ?? /(?:^|[\s(])([@#:])([^\s@#:]*(?:::[^\s@#:]*)?)$/.exec(before)
  if (!found) return null
  const [, sign, typed] = found as unknown as [string, TypedWord['sign'], string]
  if (typed.length < shortest[sign]) return null
  return { sign, typed: typed.toLowerCase(), from: caret - typed.length - 1, to: caret }
}
