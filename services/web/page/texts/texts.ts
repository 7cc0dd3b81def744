import { i18n, type Messages } from '@lingui/core'
import { signal } from '@preact/signals'
import english from './en.json'

/** The languages of the page, each by its own name. */
export const languages = { en: 'English', de: 'Deutsch', ar: 'العربية' } as const
export type Language = keyof typeof languages

const rightToLeft: readonly string[] = ['ar']
/** Each loads its texts, and returns the function that translates sentences of the server. */
const others: Record<Exclude<Language, 'en'>, () => Promise<{ default: (sentence: string) => string }>> = {
  de: () => import('./de.ts'),
  ar: () => import('./ar.ts'),
}

// An English text without values is equal to its key, so the page contains only the other English texts.
i18n.setMessagesCompiler((text) => [text])
i18n.load('en', english as unknown as Messages)

const language = signal<Language>('en')
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
export const serverText = (sentence: string) => translate?.(sentence) ?? sentence

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

/**
 * The language with the region of the browser, because formats differ by region: 12 or 24 hours, day or month first.
 */
const locale = () => navigator.languages.find((tag) => tag.slice(0, 2) === language.value) ?? language.value
const formats = new Map<string, Intl.DateTimeFormat>()

/** Formats a time in the language of the page. The formats are cached, because creating one is slow. */
function format(name: string, options: Intl.DateTimeFormatOptions, at: number): string {
  const key = `${language.value} ${name}`
  const known = formats.get(key) ?? new Intl.DateTimeFormat(locale(), options)
  formats.set(key, known)
  return known.format(at)
}

/** Creates the formats that every first view needs, while the browser reads the stored data. Each takes some milliseconds. */
export function prepareFormats() {
  timeOf(0)
  dayOf(0)
}

/** The time of day, such as `14:05`. The locale decides between 12 and 24 hours. */
export const timeOf = (at: number) => format('time', { timeStyle: 'short' }, at)

/** The beginning of the current day. */
const today = signal(startOfDay(Date.now()))
// Updates `today` on a page that stays open overnight.
setInterval(() => (today.value = startOfDay(Date.now())), 60_000)

function startOfDay(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0)
}

/** `Today`, `Yesterday`, `Sunday, 22 November`, or with the year if it is not the current one. */
export function dayOf(at: number): string {
  const days = Math.round((startOfDay(at) - today.value) / 86_400_000)
  if (days === 0 || days === -1) {
    const text = new Intl.RelativeTimeFormat(language.value, { numeric: 'auto' }).format(days, 'day')
    return text.charAt(0).toLocaleUpperCase(language.value) + text.slice(1)
  }
  if (new Date(at).getFullYear() !== new Date(today.value).getFullYear())
    return format('day', { dateStyle: 'full' }, at)
  return format('day of this year', { weekday: 'long', day: 'numeric', month: 'long' }, at)
}

/** `14:05` today, otherwise `22 Nov 2026, 14:05` */
export const momentOf = (at: number) => (startOfDay(at) === today.value ? timeOf(at) : dateTimeOf(at))

/** `22 Nov 2026, 14:05` */
export const dateTimeOf = (at: number) => format('date and time', { dateStyle: 'medium', timeStyle: 'short' }, at)

/** `22 Nov 2026` */
export const dateOf = (at: number) => format('date', { dateStyle: 'medium' }, at)

/** `1.4 MB` */
export function sizeOf(bytes: number): string {
  const units = ['byte', 'kilobyte', 'megabyte'] as const
  const step = Math.min(2, Math.floor(Math.log(Math.max(bytes, 1)) / Math.log(1000)))
  return new Intl.NumberFormat(locale(), {
    style: 'unit',
    unit: units[step]!,
    unitDisplay: step === 0 ? 'long' : 'short',
    maximumFractionDigits: step === 2 ? 1 : 0,
  }).format(bytes / 1000 ** step)
}
