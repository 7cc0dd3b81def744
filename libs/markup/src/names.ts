import type { ChooseName } from './document.ts'

/** The name behind the `@` or `#` at the index, null when there is none. */
export function nameAt(text: string, at: number, choose: ChooseName = firstWord): string | null {
  if (!mayPrecedeName.test(text.slice(Math.max(0, at - 2), at))) return null
  const candidates = nameCandidates(text.slice(at + 1, at + 1 + 2 * longestName))
  return candidates.length === 0 ? null : choose(candidates)
}

/** The start of the text, white space or an opening bracket. */
const mayPrecedeName = /(?:^|[\s\p{Ps}])$/u
const longestName = 81

/**
 * The texts that may be a name at the start of `text`, from long to short: a name may go on over single spaces, and
 * punctuation at its end may belong to the sentence.
 */
export function nameCandidates(text: string): string[] {
  const words = namedText.exec(text)?.[0].split(' ') ?? []
  const candidates = new Set<string>()
  for (let count = words.length; count > 0; count--) {
    let name = words.slice(0, count).join(' ')
    candidates.add(name)
    for (; endsInPunctuation.test(name); candidates.add(name)) name = name.slice(0, -1)
  }
  candidates.delete('')
  return [...candidates]
}

const namedText = /^[\p{L}\p{M}\p{N}_.-]+(?: [\p{L}\p{M}\p{N}_.-]+)*/u
const endsInPunctuation = /[_.-]$/

const firstWord: ChooseName = (candidates) => candidates.at(-1)!
