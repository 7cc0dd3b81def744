import { firstCharacters, invalid, lengthOf, limits } from '@parley/contract'
import { looksLike } from '@parley/database'

/**
 * Reads a name and returns it as it is stored: NFKC, trimmed, several spaces reduced to one.
 * @param what the name of the field for the error sentence.
 * @param form NFC for a text that nobody looks up, in which “m²” does not become “m2”. It may have the flags of England,
 * Scotland and Wales, which are written with invisible characters.
 * @throws ApiError 400 when nothing visible is left, when it is longer than `longest` code points, or when it has control,
 * bidirectional or invisible characters. With these, two different names could look the same.
 */
export function readName(text: string, what: string, longest: number, form: 'NFC' | 'NFKC' = 'NFKC'): string {
  const tooLong = () => invalid(`${what} is longer than ${longest} characters`)
  if (lengthOf(text.trim()) > longestDecomposition * longest) throw tooLong()
  const name = tidyName(text, form)
  if (hidden.test(form === 'NFC' ? name.replaceAll(flagsOfNations, '') : name))
    throw invalid(`${what} must not contain control or invisible characters`)
  if (!visible.test(name)) throw invalid(`${what} must not be empty`)
  if (lengthOf(name) > longest) throw tooLong()
  return name
}

/** NFKC, trimmed, several spaces reduced to one, without joiners and variation selectors that follow no character. */
export const tidyName = (text: string, form: 'NFC' | 'NFKC' = 'NFKC') =>
  text.normalize(form).replaceAll(idleJoiners, '').trim().replace(/ {2,}/g, ' ')

/**
 * Reads the name of a person or the handle of a group, and returns it as it is stored.
 * @param what the name of the field for the error sentence.
 * @throws ApiError 400 as `readName`, and for `channel` and `here`, which mention everybody.
 */
export function readUserName(text: string, what = 'userName'): string {
  const name = readName(text, what, limits.userName)
  if (name.startsWith('@')) throw invalid(`${what} must not begin with @`)
  if (isReserved(name)) throw invalid(`${what} must not be ${name}, because @${name} mentions everybody`)
  return name
}

/**
 * Makes a name of a text from another system: without the characters that `readName` refuses, and not too long. Null
 * when nothing visible is left.
 */
export function toValidName(text: string, longest: number): string | null {
  const name = firstCharacters(tidyName(enoughOf(text, longest)), longest).trimEnd()
  return visible.test(name) ? name : null
}

/** The form in which names are compared: NFKC, lower case, without invisible characters. */
export const nameKey = (name: string) =>
  name.normalize('NFKC').toLowerCase().normalize('NFKC').replaceAll(everyInvisible, '')

/**
 * Candidates for the name of a person, made from `base`: `count` names from the number `from` on, such as `ann`,
 * `ann2`, `ann3`.
 */
export function automaticNames(base: string, from: number, count: number): string[] {
  const preferred = tidyName(enoughOf(base, limits.userName).normalize('NFKC').replace(leadingAts, ''))
  const stem = visible.test(preferred) ? preferred : 'user'
  return Array.from({ length: count }, (_, index) => {
    const ending = from + index === 1 ? '' : String(from + index)
    return firstCharacters(stem, limits.userName - ending.length).trimEnd() + ending
  }).filter((name) => !isReserved(name))
}

// A character in NFKC has at most four code points when it is decomposed. Longer texts are not normalised as a whole,
// because that takes too long for a text of many marks.
const longestDecomposition = 4
/** The beginning of a text from which a name of `longest` characters is made, without hidden characters. */
const enoughOf = (text: string, longest: number) =>
  firstCharacters(text.replaceAll(everyHidden, '').trimStart(), longestDecomposition * longest)
// Invisible characters, and the blank Braille pattern. Joiners and variation selectors are allowed, because emoji and
// some scripts need them.
const hidden = /[\p{Cc}\p{Cs}\u2028\u2029\u2800[\p{DI}--[\u200C\u200D\uFE00-\uFE0F\u{E0100}-\u{E01EF}]]]/v
/** 🏴, the invisible form of `gbeng`, `gbsct` or `gbwls`, and an invisible end. Unicode recommends no other flags of this form. */
const flagsOfNations =
  /\u{1F3F4}\u{E0067}\u{E0062}(?:\u{E0065}\u{E006E}\u{E0067}|\u{E0073}\u{E0063}\u{E0074}|\u{E0077}\u{E006C}\u{E0073})\u{E007F}/gu
// At the beginning or after white space these have no effect, and would only make another name that looks like `admin`.
const idleJoiners = /(?<=^|\s)[\u200C\u200D\uFE00-\uFE0F\u{E0100}-\u{E01EF}]+/gv
const leadingAts = /^[@\s\p{DI}]+/u
const everyHidden = new RegExp(hidden.source, 'gv')
const everyInvisible = /\p{DI}/gu
const visible = /[\p{L}\p{N}\p{P}\p{S}]/u
const reserved = new Set(['channel', 'here'])

const isReserved = (name: string) =>
  reserved.has(nameKey(name)) || reserved.values().some((word) => looksLike(word, nameKey(name)))
