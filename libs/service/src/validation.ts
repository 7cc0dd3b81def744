import { notFound } from '@parley/contract'
import { Ajv, type ErrorObject } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'

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
 * A refusal is a sentence that names the field and says what is expected.
 */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart = 'body' }) => {
  const validate = ajv.compile(schema)
  const readable = schema as RequestSchema
  return (value) => {
    if (httpPart === 'body') dropNulls(readable, value)
    else readNumbers(readable, value)
    if (validate(value)) return { value }
    // An id of the wrong form is an unknown id.
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

/** Turns digits in the query into numbers. Anything else stays text, so that validation refuses it. */
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
