import type { ChooseName, Inline } from './document.ts'
import { endOfName, nameForm } from './name-form.ts'

export interface NamedLink {
  kind: 'named-link'
  url: string
  /** The whole link as it was typed. */
  source: Inline
  textStart: number
  textEnd: number
  /** Index after the closing parenthesis. */
  end: number
}

/**
 * `[text](url)` at the index. The text may have pairs of square brackets without brackets inside, and the address has
 * none. A search passes over such pairs only, and ends at the first one when it begins there. So all searches of a text
 * together take linear time.
 */
export function linkAt(text: string, at: number): NamedLink | null {
  linkText.lastIndex = at
  const [opening, label] = linkText.exec(text) ?? []
  if (opening === undefined || label!.trim() === '') return null

  const urlStart = at + opening.length
  const urlEnd = closingParenthesis(text, urlStart)
  if (urlEnd === null) return null
  const url = text.slice(urlStart, urlEnd)
  if (!scheme.test(url) || !URL.canParse(url)) return null
  return {
    kind: 'named-link',
    url,
    source: { kind: 'text', text: text.slice(at, urlEnd + 1) },
    textStart: at + 1,
    textEnd: urlStart - 2,
    end: urlEnd + 1,
  }
}

/** The text of a link, as a regular expression. */
export const linkTextForm = /(?:[^[\]\n]|\[[^[\]\n]*\](?!\())+/.source
const linkText = new RegExp(`\\[(${linkTextForm})\\]\\(`, 'y')
const scheme = /^(?:https?:\/\/|mailto:)/i

/** The index of the parenthesis that ends the address. The address itself may have pairs of parentheses. */
function closingParenthesis(text: string, start: number): number | null {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const character = text[at]!
    if (outsideUrl.test(character)) return null
    if (character === '(') depth++
    else if (character === ')' && depth-- === 0) return at
  }
  return null
}

const outsideUrl = /[\s<>"[\]\p{Cc}\p{Cf}]/u

/**
 * A bare address at the index, without the punctuation of the sentence around it. `url` is null when the text looks
 * like an address but cannot be opened.
 */
export function urlAt(text: string, at: number): { url: string | null; end: number } | null {
  bareUrl.lastIndex = at
  const run = bareUrl.exec(text)?.[0]
  if (run === undefined) return null
  const url = withoutPunctuation(run)
  const isComplete = url.length > scheme.exec(run)![0].length
  return { url: isComplete && URL.canParse(url) ? url : null, end: at + (isComplete ? url.length : run.length) }
}

/** Without the flag `i`, because together with `u` it would match `ſ` as an `s`. */
const bareUrl = /(?:[Hh][Tt][Tt][Pp][Ss]?:\/\/|[Mm][Aa][Ii][Ll][Tt][Oo]:)[^\s<>"[\]\p{Cc}\p{Cf}]+/uy

/** In `(see https://example.org/a_(b)).` the address ends before the second closing parenthesis. */
function withoutPunctuation(url: string): string {
  let surplus = 0
  for (const character of url) {
    if (character === '(') surplus--
    else if (character === ')') surplus++
  }
  let end = url.length
  for (; end > 0; end--) {
    const last = url[end - 1]!
    if (last === ')' && surplus > 0) surplus--
    else if (!punctuation.test(last)) break
  }
  return url.slice(0, end)
}

const punctuation = /[.,;:!?'*_~`]/

/** The name after the `@` or `#` at the index; null when there is none. */
export function nameAt(text: string, at: number, choose: ChooseName = firstWord): string | null {
  if (!mayPrecedeName.test(text.slice(Math.max(0, at - 2), at))) return null
  const candidates = nameCandidates(text.slice(at + 1, at + 1 + 2 * longestName))
  return candidates.length === 0 ? null : choose(candidates)
}

/** The start of the text, white space or an opening bracket. */
const mayPrecedeName = /(?:^|[\s\p{Ps}])$/u
const longestName = 81

/**
 * The texts at the start of `text` that may be a name, from long to short. A name may contain single spaces, and
 * punctuation at its end may belong to the sentence, as may an apostrophe and what follows it.
 */
function nameCandidates(text: string): string[] {
  const [longest = ''] = namedText.exec(text) ?? []
  const names = Array.from(longest.matchAll(endOfName), ({ index }) => longest.slice(0, index))
  return names.reverse().filter((name) => name !== '')
}

const namedText = new RegExp(`^${nameForm}`, 'u')

const firstWord: ChooseName = (candidates) => candidates.at(-1)!
