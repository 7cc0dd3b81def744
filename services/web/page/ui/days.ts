/** The first moment of a day such as `2026-11-23`, or of one some days later, where the person is. */
export function startOf(day: string, later = 0): number {
  const [year, month, date] = day.split('-').map(Number)
  return new Date(year!, month! - 1, date! + later).getTime()
}

/** The last moment of a day, or nothing when none was chosen. */
export const endOf = (day: string): number | undefined => (day === '' ? undefined : startOf(day, 1) - 1)
