import { safeText } from './untrusted.ts'

/**
 * The `ts` by which programs for Slack identify a message: microseconds since 1970 as ten digits of seconds and six
 * digits of the fraction.
 */
export const slackTs = (microseconds: number): string => {
  const seconds = Math.floor(microseconds / 1_000_000)
  return `${String(seconds).padStart(10, '0')}.${String(microseconds % 1_000_000).padStart(6, '0')}`
}

/** The microseconds of a `ts`; undefined when the text is not a `ts`. */
export function parseTs(ts: unknown): number | undefined {
  const [, seconds, rest] = /^(\d{10})\.(\d{6})$/.exec(safeText(ts, 100)) ?? []
  return seconds === undefined ? undefined : Number(seconds) * 1_000_000 + Number(rest)
}

/** The microseconds of the parameter `oldest` or `latest`, which may be any number of seconds; undefined for any other text. */
export function parseMoment(moment: unknown): number | undefined {
  const [, seconds, rest = ''] = /^(\d{1,10})(?:\.(\d{0,9}))?$/.exec(safeText(moment, 100)) ?? []
  return seconds === undefined ? undefined : Number(seconds) * 1_000_000 + Number(rest.slice(0, 6).padEnd(6, '0'))
}
