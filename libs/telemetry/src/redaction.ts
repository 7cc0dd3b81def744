/**
 * Keys whose values never reach a log line, wherever they stand in its first three levels: credentials, and addresses of
 * people, which do not belong in logs either.
 */
export const secretKeys = [
  'authorization',
  'cookie',
  'set-cookie',
  'password',
  'currentPassword',
  'newPassword',
  'initialUserPassword',
  'token',
  'accessToken',
  'refreshToken',
  'jwtSecret',
  'clientSecret',
  'secret',
  'email',
] as const

export const REDACTED = '[redacted]'

/**
 * The path of a URL or request target. Queries carry tokens (`/events?token=…`, sign-in links), OAuth codes and what people
 * search for; none of it is worth the risk in a trace or a log, so the whole query goes instead of a list of names.
 */
export function withoutQuery(url: string): string {
  const end = url.search(/[?#]/)
  return end < 0 ? url : url.slice(0, end)
}

/** Blanks the values of query parameters inside free text, such as the message of an error that quotes a URL. */
export function withoutQueryValues(text: string): string {
  return text.replace(/([?&][\w.[\]-]+=)[^&#\s"'<>`)]+/g, `$1${REDACTED}`)
}
