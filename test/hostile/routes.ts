import { randomUUID } from 'node:crypto'
import type { Person } from '@parley/test'

/** The part of JSON Schema that the descriptions of our routes use. */
export interface Schema {
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  minItems?: number
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  minimum?: number
  maxLength?: number
}

export interface Route {
  name: string
  method: string
  /** `/messages/{messageId}` */
  path: string
  pathParameters: string[]
  query: Record<string, Schema>
  /** The required parameters of the query. */
  requiredQuery: Record<string, Schema>
  body: Schema | undefined
  /** The body is bytes, not JSON. */
  isBinary: boolean
  access: string
  /** The statuses in its description. */
  statuses: number[]
}

interface Operation {
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses?: Record<string, object>
  'x-access'?: string
}

/** Routes whose errors have Slack's format instead of `{error}`. The tests of services/integrations attack them. */
export const isSlack = (path: string) => path.startsWith('/hooks/') || path.startsWith('/slack/')

/** Every described route except HEAD, which is like GET, and the event stream, whose successful responses do not end. */
export async function describedRoutes(anybody: Person): Promise<Route[]> {
  const { paths } = (await anybody.get('/openapi.json')).body as { paths: Record<string, Record<string, Operation>> }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => path !== '/events' && method !== 'head')
      .map(([method, { parameters = [], requestBody, responses = {}, 'x-access': access = 'user' }]) => ({
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        pathParameters: parameters.filter((each) => each.in === 'path').map(({ name }) => name),
        query: queryOf(parameters),
        requiredQuery: queryOf(parameters.filter(({ required }) => required)),
        isBinary: requestBody?.content['application/octet-stream'] !== undefined,
        body: requestBody?.content['application/json']?.schema,
        access,
        statuses: Object.keys(responses).map(Number),
      })),
  )
}

const queryOf = (parameters: NonNullable<Operation['parameters']>) =>
  Object.fromEntries(parameters.filter((each) => each.in === 'query').map(({ name, schema }) => [name, schema]))

/** Existing ids, by the parameter names of the routes. */
export type Known = Record<string, string>

/**
 * Some routes need another id under the same name: messages and images of a conversation, the tokens of a bot, and a
 * new name in a body.
 */
export function idsFor({ path }: Route, { directMessageId, directQuotedId, ...known }: Known): Known {
  const { directImage, channelImage, storedFile, ...rest } = known
  if (path.startsWith('/conversations/')) {
    const filename = path.endsWith('{filename}') ? directImage! : 'a picture.png'
    return { ...rest, messageId: directMessageId!, quotedMessageId: directQuotedId!, filename }
  }
  if (path.startsWith('/users/{id}/tokens')) return { ...rest, id: known.botId! }
  if (path.endsWith('/image/{filename}')) return { ...rest, filename: channelImage! }
  if (path === '/files/{filename}') return { ...rest, filename: storedFile! }
  return { ...rest, filename: path.endsWith('/image') ? 'a picture.png' : 'notes.txt' }
}

export const filled = (path: string, ids: Known) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'no-such-thing')

/** The address of a valid request. */
export function validPath({ path, requiredQuery }: Route, ids: Known): string {
  const query = Object.entries(requiredQuery).map(([name, schema]) => [name, String(validValue(name, schema, ids))])
  return filled(path, ids) + (query.length > 0 ? `?${new URLSearchParams(query)}` : '')
}

/** A valid body, so that a refusal is caused by the field that the test spoils. */
export function validBody(schema: Schema, ids: Known): Record<string, unknown> {
  const properties = Object.entries(schema.properties ?? {})
  return Object.fromEntries(properties.map(([name, property]) => [name, validValue(name, property, ids)]))
}

function validValue(name: string, schema: Schema, ids: Known): unknown {
  if (schema.const !== undefined) return schema.const
  if (name in ids) return ids[name]
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return validValue(name, schema.anyOf[0]!, ids)
  switch ([schema.type].flat()[0]) {
    case 'string':
      return name === 'email'
        ? `${randomUUID()}@example.com`
        : `valid ${name} ${randomUUID()}`.slice(0, schema.maxLength)
    case 'integer':
    case 'number':
      return name === 'expiresAt' ? Date.now() + 86_400_000 : (schema.minimum ?? 1)
    case 'boolean':
      return true
    case 'array':
      return schema.minItems ? [validValue(name.replace(/s$/, ''), schema.items!, ids)] : []
    default:
      return {}
  }
}

export const isText = ({ type }: Schema) => [type].flat().includes('string')

/** Values of every JSON type that the schema does not allow. */
export function wrongValues(schema: Schema): unknown[] {
  const types = new Set([schema.type ?? (schema.anyOf ?? []).map(({ type }) => type)].flat(2))
  if (schema.const !== undefined || schema.enum) types.add(typeof (schema.const ?? schema.enum![0]))
  if (types.size === 0) return []
  const samples: [string, unknown][] = [
    ['null', null],
    ['boolean', true],
    ['number', 1.5],
    ['string', 'text'],
    ['array', [{}]],
    ['object', { toString: 1 }],
  ]
  const allows = (type: string) => types.has(type)
  const wrong = samples.filter(([type]) => !allows(type)).map(([, value]) => value)
  if (allows('array') && schema.items) wrong.push(...wrongValues(schema.items).map((value) => [value]))
  return wrong
}
