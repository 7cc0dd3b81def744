import { i18n, type Messages } from '@lingui/core'
import { signal } from '@preact/signals'
import english from './en.json'
import { plainParts } from './plain-parts.ts'

/** The languages of the page, each by its own name. */
export const languages = { en: 'English', de: 'Deutsch', ar: 'العربية' } as const
export type Language = keyof typeof languages

const rightToLeft: readonly string[] = ['ar']
/** Each loads its texts, and returns the function that translates sentences of the server. */
const others: Record<Exclude<Language, 'en'>, () => Promise<{ default: (sentence: string) => string }>> = {
  de: () => import('./de.ts'),
  ar: () => import('./ar.ts'),
}

// The page contains only the English texts that it cannot compile from their keys: those with plurals.
i18n.setMessagesCompiler(plainParts)
i18n.load('en', english as unknown as Messages)

/** The language of the page. `setLanguage` changes it. */
export const language = signal<Language>('en')
/** The language that was chosen last. Its texts may not be loaded yet. */
let wanted: Language = 'en'

/** The text in the chosen language. `source` is the English text, in ICU's message format. */
export function t(source: string, values?: Record<string, unknown>): string {
  // Reading the signal makes the component render again when the language changes.
  void language.value
  return i18n._(source, values)
}

/** Undefined in English. */
let translate: ((sentence: string) => string) | undefined

/** A sentence of the server in the chosen language, or in English when it has no translation. */
export const serverText = (sentence: string) => translate?.(sentence) ?? withWords(sentence)

/** Such a sentence about a field begins with the name of the field in the interface, such as `userName`. */
const withWords = (sentence: string) =>
  sentence.replace(
    /^[a-z]+([A-Z][a-z]+)*(?= (must|is|has) )/,
    (field) => `The ${field.replace(/[A-Z]/g, ' $&').toLowerCase()}`,
  )

/**
 * Loads the texts of a language and renders the page in it.
 * @throws TypeError when the texts cannot be loaded. Then the language does not change.
 */
export async function setLanguage(next: Language) {
  wanted = next
  const loaded = next === 'en' ? undefined : (await others[next]()).default
  // Another language was chosen meanwhile.
  if (wanted !== next) return
  i18n.activate(next)
  document.documentElement.lang = next
  document.documentElement.dir = rightToLeft.includes(next) ? 'rtl' : 'ltr'
  translate = loaded
  language.value = next
}

/**
 * Starts with the chosen language, or else with the first language of the browser that the page has. If its texts cannot be loaded, the
 * page is in English.
 */
export function startTexts(chosen: Language | 'system'): Promise<void> {
  const wished = navigator.languages.map((tag) => tag.slice(0, 2)).find((tag) => tag in languages)
  const first = chosen === 'system' ? ((wished as Language | undefined) ?? 'en') : chosen
  return setLanguage(first).catch(() => setLanguage('en'))
}
