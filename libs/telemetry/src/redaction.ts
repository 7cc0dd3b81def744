/** Keys whose values never reach a log line: credentials, and addresses of people, which do not belong in logs either. */
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

const secrets: ReadonlySet<string> = new Set(secretKeys)
const deepestSecret = 4

/**
 * The same fields with the values of secret keys blanked, four levels deep in plain objects and arrays; what has nothing to
 * blank is answered as it is. (pino's own `redact` with wildcards costs 20 µs a line, this well under one.)
 */
export function withoutSecrets<Fields extends object>(fields: Fields, depth = 1): Fields {
  let copy: Record<string, unknown> | unknown[] | undefined
  for (const [key, value] of Object.entries(fields)) {
    const safe = secrets.has(key)
      ? REDACTED
      : isPlain(value) && depth < deepestSecret
        ? withoutSecrets(value, depth + 1)
        : value
    if (safe === value) continue
    copy ??= Array.isArray(fields) ? [...fields] : { ...(fields as Record<string, unknown>) }
    ;(copy as Record<string, unknown>)[key] = safe
  }
  return (copy as Fields | undefined) ?? fields
}

// Requests, errors and the like have serializers of their own, and walking them would run their getters.
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null
}
