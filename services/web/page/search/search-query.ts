import { startOfDay } from '../ui/days.ts'

/** The operators that narrow a search: `from:ann`, `in:harbour`, and `after:`, `before:` and `on:` with a day such as 2026-11-22. */
export const operators = ['from', 'in', 'after', 'before', 'on'] as const
export type Operator = (typeof operators)[number]
export const exampleOfOperators = 'from:"Ann Lee" in:harbour after:2026-11-22 before:2026-11-30 on:2026-11-25'

export interface SearchQuery {
  /** The text without the operators, with its quotation marks. */
  words: string
  filters: Partial<Record<Operator, string>>
}

/**
 * Parses the typed text. A name with spaces must be in quotes: `from:"Ann Lee"`. A phrase in quotes has no operators. Phones type curly
 * quotes.
 */
export function parseQuery(text: string): SearchQuery {
  const filters: SearchQuery['filters'] = {}
  const words = text.replace(partPattern, (whole, before: string, typed?: string, quoted?: string, plain?: string) => {
    if (typed === undefined) return whole
    const operator = typed.toLowerCase() as Operator
    const value = (quoted ?? plain!).trim().replace(/^[@#]/, '')
    if (value === '' || (isDay(operator) && !isDayOfSearch(value))) return whole
    filters[operator] = value
    return before
  })
  return { words: words.trim().replace(/\s+/g, ' '), filters }
}

/**
 * The text to search for. The server finds messages that contain the whole text, so every search is a search for a phrase, and the
 * quotation marks are left out.
 */
export const textOfWords = (words: string) => words.replace(phrasePattern, '$1$2').trim().replace(/\s+/g, ' ')

/** Whether the text has a word like an operator, but it is none, or its day is none. An address is no such word. */
export const hasUnknownOperator = (text: string) =>
  /(^|\s)\p{Letter}+:(?!\/\/)(\S|$)/u.test(parseQuery(text).words.replace(phrasePattern, ' '))

export function formatQuery({ words, filters }: SearchQuery): string {
  const parts = operators.flatMap((operator) => {
    // A name cannot have quotes, because they enclose it.
    const value = filters[operator]?.replace(/["“”„]/g, ' ').trim()
    return value ? [`${operator}:${/\s/.test(value) ? `"${value}"` : value}`] : []
  })
  return [words, ...parts].filter((part) => part !== '').join(' ')
}

/** The period of a search in epoch milliseconds, both ends inclusive. `after` and `before` leave out their day, and `on` is the whole day. */
export function periodOf({ after, before, on }: SearchQuery['filters']): { from?: number; to?: number } {
  const starts = [...(on ? [startOfDay(on)] : []), ...(after ? [startOfDay(after, 1)] : [])]
  const ends = [...(on ? [startOfDay(on, 1)] : []), ...(before ? [startOfDay(before)] : [])]
  return {
    ...(starts.length > 0 && { from: Math.max(...starts) }),
    ...(ends.length > 0 && { to: Math.min(...ends) - 1 }),
  }
}

/** An operator or a phrase. */
const partPattern = /(^|\s)(?:(from|in|after|before|on):(?:["“”„]([^"“”„]*)["“”„]|(\S+))|["“”„][^"“”„]*["“”„](?!\S))/gi
const phrasePattern = /(^|\s)["“”„]([^"“”„]*)["“”„](?!\S)/g
/** A day with a year of four digits that exists. */
const isDayOfSearch = (value: string) => /^\d{4}-/.test(value) && !Number.isNaN(startOfDay(value))
const isDay = (operator: Operator) => operator === 'after' || operator === 'before' || operator === 'on'
