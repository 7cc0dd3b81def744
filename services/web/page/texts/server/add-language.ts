import { i18n, type Messages } from '@lingui/core'

/** Where a sentence has a value. */
const value = /\{\d\}/

/**
 * Adds the texts of a language, and returns the function that translates sentences of the server. The keys of `sentences` are the
 * English ones, with `{0}`, `{1}`, … for values. Keys of one word are names of fields.
 */
export function addLanguage(language: string, texts: Messages, sentences: Messages) {
  i18n.load(language, { ...sentences, ...texts })
  const find = (sentence: string): string | undefined => {
    if (Object.hasOwn(sentences, sentence) && !value.test(sentence)) return i18n._(sentence)
    for (const pattern of patternsOf(sentences)) {
      const values = valuesIn(sentence, pattern)
      if (!values) continue
      if (pattern.startsWith('{0}') && Object.hasOwn(sentences, values[0]!)) values[0] = i18n._(values[0]!)
      return i18n._(pattern, { ...values })
    }
    return undefined
  }
  /** Returns the sentence itself when it is unknown. Commands add a full stop to refusals. */
  return (sentence: string): string => {
    const found = find(sentence)
    if (found !== undefined || !sentence.endsWith('.')) return found ?? sentence
    const withoutStop = find(sentence.slice(0, -1))
    return withoutStop === undefined ? sentence : `${withoutStop}.`
  }
}

/** The sentences with values. The one with the longest text comes first, because it says the most. */
function patternsOf(sentences: Messages): string[] {
  const lengthOf = (pattern: string) => pattern.split(value).join('').length
  return Object.keys(sentences)
    .filter((key) => value.test(key))
    .sort((one, other) => lengthOf(other) - lengthOf(one))
}

/**
 * The values in a sentence of this pattern, or undefined. Values may contain anything, because some were chosen by a person. The time
 * grows only with the length of the sentence.
 */
function valuesIn(sentence: string, pattern: string): string[] | undefined {
  const [start, ...texts] = pattern.split(value)
  const end = texts.pop()!
  if (!sentence.startsWith(start!) || !sentence.endsWith(end)) return undefined
  const values: string[] = []
  let at = start!.length
  for (const text of texts) {
    const next = sentence.indexOf(text, at)
    if (next === -1) return undefined
    values.push(sentence.slice(at, next))
    at = next + text.length
  }
  const last = sentence.length - end.length
  if (last < at) return undefined
  values.push(sentence.slice(at, last))
  // A sentence that begins with a value is about a field, whose name has no spaces.
  return start === '' && !/^\S+$/.test(values[0]!) ? undefined : values
}
