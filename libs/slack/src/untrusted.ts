import { firstCharacters, lengthOf } from '@parley/contract'

/** Control characters except tab and line break, and characters that change the direction of the text around them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
const harmful = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/**
 * Makes a text safe to store and show: well-formed, without characters that hide or reverse text, and at most `most`
 * characters long.
 */
export function safeText(text: unknown, most: number): string {
  if (typeof text !== 'string') return typeof text === 'number' || typeof text === 'boolean' ? String(text) : ''
  const safe = text.toWellFormed().replaceAll('\r\n', '\n').replace(harmful, '')
  return lengthOf(safe) > most ? `${firstCharacters(safe, most - 1)}…` : safe
}

const longestUrl = 3_000
const openable = /^(?:https?:\/\/|mailto:)[^\s"<>[\]\p{Cc}\p{Cf}]+$/iu

/** Returns the address if it can be opened (http, https or mailto), else undefined. */
export function safeUrl(url: unknown): string | undefined {
  if (typeof url !== 'string' || url.length > longestUrl) return undefined
  const written = url.trim().replace(/[[\]"<>\s]/g, encodeURIComponent)
  return openable.test(written) && URL.canParse(written) ? written : undefined
}

/** An object from a JSON text of another program. */
export type Json = Record<string, unknown>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the value if it is a list, else undefined. */
export const listOf = (value: unknown): unknown[] | undefined => (Array.isArray(value) ? value : undefined)
