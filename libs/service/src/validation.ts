import { invalid, notFound } from '@parley/contract'
import { Ajv, type ErrorObject } from 'ajv'
import type { FastifyInstance, FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import { UnreadableBody } from './refusal-forms.ts'

const ajv = new Ajv({
  allErrors: false,
  useDefaults: true,
  coerceTypes: false,
  strict: false,
  strictNumbers: true,
  allowUnionTypes: true,
  verbose: true,
})

/** The parts of a JSON Schema that are used here. */
export interface RequestSchema {
  type?: string | readonly string[]
  properties?: Record<string, RequestSchema>
  required?: readonly string[]
  items?: RequestSchema
  enum?: readonly unknown[]
  default?: unknown
}

/**
 * Validates with the TypeBox schema of the route. Two rules hold for every route:
 * - `null` in an optional field of a body counts as absent;
 * - a whole number in the query is written in digits, with `-` before a negative one. `+5`, `5.0`, `0x5` and `1e1` are refused.
 *
 * A refusal is a sentence that names the field and the expected value.
 */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart = 'body' }) => {
  const validate = ajv.compile(schema)
  const readable = schema as RequestSchema
  return (value) => {
    if (httpPart === 'body') dropNulls(readable, value)
    else readNumbers(readable, value)
    if (validate(value)) return { value }
    // An id of another form is an unknown id.
    if (httpPart === 'params') return { error: notFound('address') }
    return { error: new Error(explain(validate.errors![0]!, httpPart)) }
  }
}

function dropNulls(schema: RequestSchema, value: unknown): void {
  if (Array.isArray(value)) {
    if (schema.items) for (const item of value) dropNulls(schema.items, item)
    return
  }
  if (typeof value !== 'object' || value === null) return
  const fields = value as Record<string, unknown>
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (fields[name] === null && !schema.required?.includes(name)) delete fields[name]
    else dropNulls(property, fields[name])
  }
}

/** Converts digits in the query to numbers. All other texts stay as they are, so that validation refuses them. */
function readNumbers({ properties = {} }: RequestSchema, value: unknown): void {
  const fields = value as Record<string, unknown>
  for (const [name, { type }] of Object.entries(properties)) {
    const text = fields[name]
    if (type === 'integer' && typeof text === 'string' && /^(?:\d+|-[1-9]\d*)$/.test(text)) fields[name] = Number(text)
  }
}

function explain({ instancePath, keyword, params, data }: ErrorObject, httpPart: string): string {
  const path = instancePath.slice(1).split('/').filter(Boolean)
  if (keyword === 'required') return `${nameOf([...path, params.missingProperty], httpPart)} is missing`
  const field = nameOf(path, httpPart)
  if (keyword === 'minLength' && params.limit === 1) return `${field} must not be empty`
  if (keyword === 'type' && httpPart !== 'body') {
    return `${field} must be ${Array.isArray(data) ? 'given only once' : 'a whole number, written in digits'}`
  }
  return `${field} ${expectations[keyword]?.(params) ?? 'has a form that is not allowed'}`
}

const expectations: Record<string, (params: Record<string, unknown>) => string> = {
  type: ({ type }) => `must be ${[type].flat().map(kindOf).join(' or ')}`,
  enum: ({ allowedValues }) => `must be one of ${(allowedValues as string[]).join(', ')}`,
  minLength: ({ limit }) => `is shorter than ${limit} characters`,
  maxLength: ({ limit }) => `is longer than ${limit} characters`,
  minItems: ({ limit }) => `has fewer than ${limit} entries`,
  maxItems: ({ limit }) => `has more than ${limit} entries`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
}

const kinds: Record<string, string> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a JSON object',
}
const kindOf = (type: unknown) => kinds[String(type)] ?? String(type)

/** `members[0]`, `The body`, `The header Idempotency-Key`. */
function nameOf(path: string[], httpPart: string): string {
  if (path.length === 0) return 'The body'
  if (httpPart === 'headers') return `The header ${path[0]!.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase())}`
  return path.map((part, index) => (/^\d+$/.test(part) ? `[${part}]` : index === 0 ? part : `.${part}`)).join('')
}

/**
 * Reads bodies as JSON. A missing or empty body counts as `{}`, whatever its content type is. Names that would change
 * prototypes are dropped like unknown fields. U+0000, which PostgreSQL cannot store, is refused on all routes, also in
 * the URL.
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
        if (error) return done(error instanceof SyntaxError ? new UnreadableBody('not JSON') : error)
        if (body.includes('\\u0000') && containsNul(parsed)) return done(nulRefusal())
        done(null, parsed)
      })
    },
  )
  app.addContentTypeParser<string>('*', { parseAs: 'string' }, (_request, body, done) => {
    if (body === '') return done(null, {})
    done(new UnreadableBody('wrong type'))
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

/** Whether any text has a U+0000. It uses no recursion, because a small body can be nested deeper than the call stack. */
function containsNul(value: unknown): boolean {
  const waiting = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next === 'string' && next.includes('\0')) return true
    if (typeof next !== 'object' || next === null) continue
    if (Array.isArray(next)) for (const inner of next) waiting.push(inner)
    else for (const [key, inner] of Object.entries(next)) waiting.push(key, inner)
  }
  return false
}

/**
 * Decodes base64 (RFC 4648, section 4: with padding, without line breaks) from a field of a body.
 * @throws ApiError 400 when the text is anything else.
 */
export function decodeBase64(field: string, text: string): Buffer {
  if (text.startsWith('data:')) throw invalid(`${field} is a data: URL. Please send only the part after its comma`)
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const bytes = Buffer.from(text, 'base64')
  // Node tolerates other characters, which the first condition finds, and misplaced or missing padding, which the
  // second condition finds.
  if (notBase64.test(text) || bytes.length !== (text.length / 4) * 3 - padding) {
    throw invalid(`${field} is not base64: letters, digits, + and /, padded with = at the end, without line breaks`)
  }
  return bytes
}

const notBase64 = /[^A-Za-z0-9+/=]/
