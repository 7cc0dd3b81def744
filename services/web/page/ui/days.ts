/**
 * The first moment, in local time, of a day such as `2026-11-23`, or of the day `later` days after it. NaN when there is no such day, for
 * example `2026-02-31`.
 */
export function startOfDay(day: string, later = 0): number {
  const [, year, month, date] = (/^(\d{4,6})-(\d{2})-(\d{2})$/.exec(day) ?? []).map(Number)
  // Otherwise February 31 would be a day in March.
  if (new Date(year!, month! - 1, date).getMonth() !== month! - 1) return Number.NaN
  return new Date(year!, month! - 1, date! + later).getTime()
}

/** The last moment of a day. Undefined when no day was chosen. */
export const endOfDay = (day: string): number | undefined => (day === '' ? undefined : startOfDay(day, 1) - 1)
