import { invalid } from '@parley/contract'
import type { FastifyInstance } from 'fastify'

/**
 * Reads bodies as JSON. A missing or empty body counts as `{}`, whatever its content type. Names that would change prototypes are dropped
 * like unknown fields. U+0000, which PostgreSQL cannot store, is refused for all routes, also in the URL.
 */
export function readBodies(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('remove', 'remove')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(
    /^application\/(?:[\w.-]+\+)?json(?:;|$)/i,
    { parseAs: 'string' },
    (request, body, done) => {
      if (body.trim() === '') return done(null, {})
      parseJson(request, body, (error, parsed) => {
        if (error) return done(error instanceof SyntaxError ? invalid('The body is not valid JSON') : error)
        if (body.includes('\\u0000') && containsNul(parsed)) return done(nulRefusal())
        done(null, parsed)
      })
    },
  )
  app.addContentTypeParser<string>('*', { parseAs: 'string' }, (_request, body, done) => {
    if (body === '') return done(null, {})
    done(invalid('Please send the body as JSON, with the header Content-Type: application/json'))
  })
  app.addHook('onRequest', ({ url }, _reply, done) => done(url.includes('%00') ? nulRefusal() : undefined))
  app.addHook('preValidation', (request, _reply, done) => {
    request.body ??= request.body === null ? null : {}
    done()
  })
}

/** For routes that read bodies themselves. @throws ApiError 400 when the value contains U+0000. */
export function refuseNul(parsed: unknown): void {
  if (containsNul(parsed)) throw nulRefusal()
}

const nulRefusal = () => invalid('The character U+0000 is not allowed in text')

/** Without recursion, because a small body can nest deeper than the call stack. */
function containsNul(value: unknown): boolean {
  const waiting = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next === 'string' && next.includes('\0')) return true
    if (typeof next !== 'object' || next === null) continue
    for (const [key, inner] of Object.entries(next)) waiting.push(key, inner)
  }
  return false
}

/**
 * Decodes base64 (RFC 4648, section 4: with padding, without line breaks) from a field of a body.
 * @throws ApiError 400 when the text is anything else.
 */
export function decodeBase64(field: string, text: string): Buffer {
  if (text.startsWith('data:')) throw invalid(`${field} is a data: URL. Please send only what follows its comma`)
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const bytes = Buffer.from(text, 'base64')
  // Node tolerates other characters, which the first condition finds, and misplaced or missing padding, which the length shows.
  if (notBase64.test(text) || bytes.length !== (text.length / 4) * 3 - padding) {
    throw invalid(`${field} is not base64: letters, digits, + and /, padded with = at the end, without line breaks`)
  }
  return bytes
}

const notBase64 = /[^A-Za-z0-9+/=]/
