/** The first moment, in local time, of a day such as `2026-11-23`, or of the day `later` days after it. */
export function startOf(day: string, later = 0): number {
  const [year, month, date] = day.split('-').map(Number)
  return new Date(year!, month! - 1, date! + later).getTime()
}

/** The last moment of a day. Undefined when no day was chosen. */
export const endOf = (day: string): number | undefined => (day === '' ? undefined : startOf(day, 1) - 1)
