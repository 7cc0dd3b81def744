import { notFound } from '@parley/contract'
import { Ajv, type ErrorObject } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'

const options = {
  allErrors: false,
  useDefaults: true,
  strict: false,
  strictNumbers: true,
  allowUnionTypes: true,
} as const
const bodies = new Ajv({ ...options, coerceTypes: false })
// Everything in a URL or header is text; "50" means 50 there and nowhere else.
const texts = new Ajv({ ...options, coerceTypes: true })

/** Validates with the TypeBox schema of the route. A refusal is a sentence that names the field. */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const validate = (httpPart === 'body' ? bodies : texts).compile(schema)
  return (value) => {
    if (validate(value)) return { value }
    // An id of the wrong form is simply unknown.
    if (httpPart === 'params') return { error: notFound('address') }
    return { error: new Error(explain(validate.errors![0]!)) }
  }
}

function explain({ instancePath, keyword, params, message }: ErrorObject): string {
  const field = instancePath.slice(1).replaceAll('/', '.')
  if (keyword === 'required') return `${path(field, params.missingProperty)} is missing`
  if (keyword === 'enum') return `${field} must be one of ${params.allowedValues.join(', ')}`
  if (keyword === 'maxLength') return `${field} is longer than ${params.limit} characters`
  if (keyword === 'minLength') return `${field} is shorter than ${params.limit} characters`
  return field === '' ? `The body ${message}` : `${field} ${message}`
}

const path = (...parts: string[]) => parts.filter(Boolean).join('.')
