import { i18n, type Messages } from '@lingui/core'
import { signal } from '@preact/signals'
import english from './en.json'

/** The languages of the page, each by its own name. */
export const languages = { en: 'English', de: 'Deutsch', ar: 'العربية' } as const
export type Language = keyof typeof languages

const rightToLeft: readonly string[] = ['ar']
const others: Record<Exclude<Language, 'en'>, () => Promise<{ default: unknown }>> = {
  de: () => import('./de.json'),
  ar: () => import('./ar.json'),
}

export const language = signal<Language>('en')

/** The text in the chosen language. `source` is the English text, in ICU's message format. Components render again when the language changes. */
export function t(source: string, values?: Record<string, unknown>): string {
  return language.value && i18n._(source, values)
}

/** Loads the texts of a language and shows the page in it. English stands in for texts that are not translated yet. */
export async function setLanguage(next: Language) {
  const translated = next === 'en' ? {} : ((await others[next]()).default as Messages)
  i18n.load(next, { ...(english as unknown as Messages), ...translated })
  i18n.activate(next)
  document.documentElement.lang = next
  document.documentElement.dir = rightToLeft.includes(next) ? 'rtl' : 'ltr'
  language.value = next
}

/** Begins with the chosen language, else with the first of the browser's languages that the page has. */
export function startTexts(chosen: Language | 'system'): Promise<void> {
  const wished = navigator.languages.map((tag) => tag.slice(0, 2)).find((tag) => tag in languages)
  return setLanguage(chosen === 'system' ? ((wished as Language | undefined) ?? 'en') : chosen)
}

/** `14:05` on the same day; the locale decides about 12 or 24 hours. */
export const timeOf = (at: number) =>
  new Intl.DateTimeFormat(language.value, { hour: 'numeric', minute: '2-digit' }).format(at)

/** `Sunday, 22 November 2026` */
export const dayOf = (at: number) => new Intl.DateTimeFormat(language.value, { dateStyle: 'full' }).format(at)

/** `22 Nov 2026, 14:05` */
export const dateTimeOf = (at: number) =>
  new Intl.DateTimeFormat(language.value, { dateStyle: 'medium', timeStyle: 'short' }).format(at)

/** `1.4 MB` */
export function sizeOf(bytes: number): string {
  const units = ['byte', 'kilobyte', 'megabyte'] as const
  const step = Math.min(2, Math.floor(Math.log(Math.max(bytes, 1)) / Math.log(1000)))
  return new Intl.NumberFormat(language.value, {
    style: 'unit',
    unit: units[step]!,
    unitDisplay: 'short',
    maximumFractionDigits: step === 2 ? 1 : 0,
  }).format(bytes / 1000 ** step)
}
