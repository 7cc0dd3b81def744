import { signal } from '@preact/signals'
import { language } from './texts.ts'

/*
 * Times, dates and sizes in the language of the page. Times are in epoch milliseconds.
 */

/** The language with the region of the browser, because formats differ by region: 12 or 24 hours, day or month first. */
const locale = () => navigator.languages.find((tag) => tag.slice(0, 2) === language.value) ?? language.value
const formats = new Map<string, Intl.DateTimeFormat>()

/** Formats a time in the language of the page. The formats are cached, because creating one is slow. */
function format(name: string, options: Intl.DateTimeFormatOptions, at: number): string {
  // Reading the signal makes a component render again when the time zone changes.
  void today.value
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

/** The beginning of the current day, in epoch milliseconds. It changes with the time zone too. */
export const today = signal(midnightOf(Date.now()))

/** For a page that stays open overnight, or on a journey. A format keeps the time zone in which it was created. */
function updateToday() {
  const next = midnightOf(Date.now())
  if (next !== today.value) formats.clear()
  today.value = next
}
setInterval(updateToday, 60_000)
addEventListener('focus', updateToday)

function midnightOf(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0)
}

/** `Today`, `Yesterday`, `Sunday, 22 November`, or with the year if it is not the current one. */
export function dayOf(at: number): string {
  const days = Math.round((midnightOf(at) - today.value) / 86_400_000)
  if (days === 0 || days === -1) {
    const text = new Intl.RelativeTimeFormat(language.value, { numeric: 'auto' }).format(days, 'day')
    return text.charAt(0).toLocaleUpperCase(language.value) + text.slice(1)
  }
  if (new Date(at).getFullYear() !== new Date(today.value).getFullYear())
    return format('day', { dateStyle: 'full' }, at)
  return format('day of this year', { weekday: 'long', day: 'numeric', month: 'long' }, at)
}

/** `14:05` today, otherwise `22 Nov 2026, 14:05` */
export const momentOf = (at: number) => (midnightOf(at) === today.value ? timeOf(at) : dateTimeOf(at))

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
