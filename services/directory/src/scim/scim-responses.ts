import { scimRefusal } from '@parley/service'
import type { FastifyReply } from 'fastify'
import { type RawBuilder, sql } from 'kysely'
import { type Fields, fieldsOf } from './scim-body.ts'
import { compileFilter, type FilterAttribute } from './scim-filter.ts'

/** The maximum number of resources on a page. */
export const largestPage = 200

const mediaType = 'application/scim+json; charset=utf-8'

/** Sends a body in the media type of SCIM. */
export const sendScim = (reply: FastifyReply, body: object) =>
  reply.type(mediaType).serializer(JSON.stringify).send(body)

/** @throws ProtocolRefusal */
export function refuse(status: number, detail: string): never {
  throw scimRefusal(status, detail)
}

/** Whether the header If-Match or If-None-Match names this version. Without the header every version is expected. */
export const isExpected = (header: string | undefined, version: string): boolean =>
  header === undefined || header.split(',').some((each) => ['*', version].includes(each.trim()))

/** A page of a list (RFC 7644, 3.4.2). */
export const listOf = (resources: readonly object[], totalResults: number, startIndex: number) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
  totalResults,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
})

function wholeNumber(value: unknown, name: string): number | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'string' || !/^-?\d{1,15}$/.test(value)) {
    throw scimRefusal(400, `${name} must be a whole number`, 'invalidValue')
  }
  return Number(value)
}

/** The body of a search as query parameters (RFC 7644, 3.4.3). @throws ProtocolRefusal 400. */
export const queryOf = (body: unknown): Fields =>
  Object.fromEntries(
    Object.entries(fieldsOf(body, 'The body')).flatMap(([name, value]) =>
      value === null ? [] : [[name, typeof value === 'number' ? String(value) : value]],
    ),
  )

export interface Page {
  filter: RawBuilder<boolean>
  offset: number
  limit: number
}

/** The page of a list that a request asks for. @throws ProtocolRefusal 400. */
export function readPage(query: unknown, attributes: Record<string, FilterAttribute>): Page {
  const { filter = '', startIndex, count } = query as Record<string, unknown>
  // If we ignored a repeated filter, the response would list everybody.
  if (typeof filter !== 'string')
    throw scimRefusal(400, 'filter must be a text that is given only once', 'invalidFilter')
  return {
    filter: filter === '' ? sql<boolean>`true` : compileFilter(filter, attributes),
    offset: Math.max(1, wholeNumber(startIndex, 'startIndex') ?? 1) - 1,
    limit: Math.min(largestPage, Math.max(0, wholeNumber(count, 'count') ?? largestPage)),
  }
}

export interface AttributeQuery {
  attributes?: unknown
  excludedAttributes?: unknown
}

/** The parts of a resource that a request asks for (RFC 7644, 3.9). `schemas` and `id` are always included. */
export function selectAttributes<Resource extends object>(resource: Resource, query: AttributeQuery): object {
  const wanted = namesIn(query.attributes)
  const unwanted = namesIn(query.excludedAttributes)
  if (!wanted && !unwanted) return resource
  return Object.fromEntries(
    Object.entries(resource).flatMap(([name, value]) => {
      const key = name.toLowerCase()
      if (key === 'id' || key === 'schemas') return [[name, value]]
      if (wanted ? wanted.has(key) : !unwanted!.has(key))
        return [[name, wanted ? value : without(value, key, unwanted!)]]
      const parts =
        wanted && [...wanted].filter((each) => each.startsWith(`${key}.`)).map((each) => each.slice(key.length + 1))
      return parts && parts.length > 0 ? [[name, only(value, parts)]] : []
    }),
  )
}

/** Whether a request asks for an attribute or a part of it. The caller does not read an attribute that is not asked for. */
export function isAskedFor(name: string, query: AttributeQuery): boolean {
  const [wanted, unwanted] = [namesIn(query.attributes), namesIn(query.excludedAttributes)]
  return wanted ? [...wanted].some((each) => each === name || each.startsWith(`${name}.`)) : !unwanted?.has(name)
}

const only = (value: unknown, parts: readonly string[]) => pick(value, (part) => parts.includes(part))
const without = (value: unknown, key: string, unwanted: ReadonlySet<string>) =>
  pick(value, (part) => !unwanted.has(`${key}.${part}`))

function pick(value: unknown, isKept: (part: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((each) => pick(each, isKept))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).filter(([part]) => isKept(part.toLowerCase())))
}

/** The names in a list with commas. A parameter that is given several times counts as one list. Other values are ignored. */
function namesIn(given: unknown): Set<string> | undefined {
  const text = [given]
    .flat()
    .filter((each) => typeof each === 'string')
    .join(',')
  if (text.trim() === '') return undefined
  return new Set(
    text.split(',').map((name) =>
      name
        .trim()
        .replace(/^urn:.*:/i, '')
        .toLowerCase(),
    ),
  )
}
