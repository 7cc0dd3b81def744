/** Keys whose values are never logged: credentials and email addresses. */
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

export const redacted = '[redacted]'

/**
 * The path of a URL or request target. Queries carry tokens (`/events?token=…`, sign-in links), OAuth codes and search
 * texts, so the whole query is removed, not only some parameters. The last part of a webhook's address is its secret,
 * and is redacted.
 */
export function withoutQuery(url: string): string {
  const end = url.search(/[?#]/)
  return (end < 0 ? url : url.slice(0, end)).replace(/(\/hooks\/[^/]+\/).+/, `$1${redacted}`)
}

/** Redacts the values of query parameters inside free text, such as an error message that quotes a URL. */
export function withoutQueryValues(text: string): string {
  return text.replace(/([?&][\w.[\]-]+=)[^&#\s"'<>`)]+/g, `$1${redacted}`)
}

const secrets: ReadonlySet<string> = new Set(secretKeys)
const deepestSecret = 4

/**
 * Returns a copy of the fields in which the values of secret keys are redacted, four levels deep in plain objects and
 * arrays. Without secrets it returns the object itself. (pino's `redact` with wildcards takes 20 µs a line, this
 * function less than 1 µs.)
 */
export function withoutSecrets<Fields extends object>(fields: Fields, depth = 1): Fields {
  let copy: Record<string, unknown> | unknown[] | undefined
  for (const [key, value] of Object.entries(fields)) {
    const safe = secrets.has(key)
      ? redacted
      : isPlain(value) && depth < deepestSecret
        ? withoutSecrets(value, depth + 1)
        : value
    if (safe === value) continue
    copy ??= Array.isArray(fields) ? [...fields] : { ...(fields as Record<string, unknown>) }
    ;(copy as Record<string, unknown>)[key] = safe
  }
  return (copy as Fields | undefined) ?? fields
}

// Requests and errors have their own serializers, and reading their properties would run getters.
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null
}
