import { firstCharacters, lengthOf } from '@parley/contract'

/** Control characters but tab and line break, and those that turn the direction of the text around them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const harmful = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** The text as it may be stored and shown: well-formed, without what hides or turns text, and not longer than `most` characters. */
export function safeText(text: unknown, most: number): string {
  if (typeof text !== 'string') return typeof text === 'number' || typeof text === 'boolean' ? String(text) : ''
  const safe = text.toWellFormed().replaceAll('\r\n', '\n').replace(harmful, '')
  return lengthOf(safe) > most ? `${firstCharacters(safe, most - 1)}…` : safe
}

const longestUrl = 3_000
const openable = /^(?:https?:\/\/|mailto:)[^\s"<>[\]\p{Cc}\p{Cf}]+$/iu

/** The address when it may be opened (http, https or mailto), else undefined. */
export function safeUrl(url: unknown): string | undefined {
  if (typeof url !== 'string' || url.length > longestUrl) return undefined
  const written = url.trim().replace(/[[\]"<>\s]/g, encodeURIComponent)
  return openable.test(written) && URL.canParse(written) ? written : undefined
}

/** An object of a JSON text that somebody else has written. */
export type Json = Record<string, unknown>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The list; undefined when it is none. */
export const listOf = (value: unknown): unknown[] | undefined => (Array.isArray(value) ? value : undefined)
