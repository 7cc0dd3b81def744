/** What Slack's programs know a message by, of microseconds since 1970: ten digits of seconds, six of microseconds. */
export const slackTs = (microseconds: number): string => {
  const seconds = Math.floor(microseconds / 1_000_000)
  return `${String(seconds).padStart(10, '0')}.${String(microseconds % 1_000_000).padStart(6, '0')}`
}

/** The microseconds of a `ts`; undefined when it is none. */
export function parseTs(ts: unknown): number | undefined {
  const [, seconds, rest] = /^(\d{10})\.(\d{6})$/.exec(String(ts)) ?? []
  return seconds === undefined ? undefined : Number(seconds) * 1_000_000 + Number(rest)
}

/** The same for a point in time as programs ask by: `oldest` and `latest` may be any number of seconds. */
export function parseMoment(moment: unknown): number | undefined {
  const [, seconds, rest = ''] = /^(\d{1,10})(?:\.(\d{0,9}))?$/.exec(String(moment)) ?? []
  return seconds === undefined ? undefined : Number(seconds) * 1_000_000 + Number(rest.slice(0, 6).padEnd(6, '0'))
}
