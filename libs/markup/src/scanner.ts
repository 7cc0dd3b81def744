/** A text, and what is found in it once and then looked up. */
export interface Scanner {
  text: string
  /** The run of backticks that begins at the index. `closing` is the index of the next run of the same length. */
  runOfBackticks: (at: number) => BacktickRun | undefined
}

interface BacktickRun {
  length: number
  closing: number | null
}

export function createScanner(text: string): Scanner {
  let runs: Map<number, BacktickRun> | undefined
  return {
    text,
    runOfBackticks(at) {
      runs ??= findRunsOfBackticks(text)
      return runs.get(at)
    },
  }
}

function findRunsOfBackticks(text: string): Map<number, BacktickRun> {
  const runs = new Map<number, BacktickRun>()
  const nextOfLength = new Map<number, number>()
  for (const { 0: run, index } of [...text.matchAll(/`+/g)].reverse()) {
    runs.set(index, { length: run.length, closing: nextOfLength.get(run.length) ?? null })
    nextOfLength.set(run.length, index)
  }
  return runs
}

export const isSpace = (text: string, at: number): boolean => /\s/.test(text[at]!)

/**
 * Whether a marker may stand at the index: no letter or digit touches it on that side. Letters of scripts that put no
 * spaces between words do not count, so that 太*字* works and snake_case stays text.
 */
export function isBoundary(text: string, at: number, side: 'before' | 'after'): boolean {
  if (side === 'after') return !isWordCharacter(text.codePointAt(at))
  const isLowSurrogate = (text.charCodeAt(at - 1) & 0xfc00) === 0xdc00
  return !isWordCharacter(at === 0 ? undefined : text.codePointAt(at - (isLowSurrogate && at > 1 ? 2 : 1)))
}

function isWordCharacter(codePoint: number | undefined): boolean {
  if (codePoint === undefined) return false
  const character = String.fromCodePoint(codePoint)
  return wordCharacter.test(character) && !scriptWithoutSpaces.test(character)
}

const wordCharacter = /[\p{L}\p{M}\p{N}]/u
const scriptWithoutSpaces =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u
