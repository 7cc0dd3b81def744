import { scimRefusal } from '@parley/service'
import { type RawBuilder, sql } from 'kysely'
import { type Fields, fieldsOf } from './scim-body.ts'
import { compileFilter, type FilterAttribute } from './scim-filter.ts'

/** The maximum number of resources on a page. */
export const largestPage = 200

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

function wholeNumber(value: unknown, name: string): number | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'string' || !/^-?\d{1,15}$/.test(value)) {
    throw scimRefusal(400, `${name} must be a whole number`, 'invalidValue')
  }
  return Number(value)
}

/** The attributes that a request asks for, as lists of their names. */
export interface AttributeQuery {
  attributes?: unknown
  excludedAttributes?: unknown
}

/**
 * The parts of a resource that a request asks for (RFC 7644, 3.9). `schemas` and `id` are always included. With `attributes`,
 * `excludedAttributes` have no effect.
 */
export function selectAttributes<Resource extends object>(resource: Resource, query: AttributeQuery): object {
  const wanted = namesIn(query.attributes)
  const unwanted = namesIn(query.excludedAttributes)
  const select = (key: string, value: unknown): unknown => {
    if (key === 'id' || key === 'schemas') return value
    if (wanted) return wantedIn(value, key, wanted)
    return unwanted ? withoutUnwanted(value, key, unwanted) : value
  }
  return Object.fromEntries(
    Object.entries(resource)
      .map(([name, value]) => [name, select(name.toLowerCase(), value)] as const)
      .filter(([, value]) => value !== undefined),
  )
}

/** The value of an attribute, or of its parts only the wanted ones. Undefined when nothing of it is wanted. */
function wantedIn(value: unknown, key: string, wanted: ReadonlySet<string>): unknown {
  if (wanted.has(key)) return value
  const parts = [...wanted].filter((each) => each.startsWith(`${key}.`)).map((each) => each.slice(key.length + 1))
  return parts.length > 0 ? pick(value, (part) => parts.includes(part)) : undefined
}

/** The value of an attribute without its unwanted parts. Undefined when the whole attribute is unwanted. */
const withoutUnwanted = (value: unknown, key: string, unwanted: ReadonlySet<string>): unknown =>
  unwanted.has(key) ? undefined : pick(value, (part) => !unwanted.has(`${key}.${part}`))

/** Keeps some parts of a value, or of each value of a list. A simple value has no parts. */
function pick(value: unknown, isKept: (part: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((each) => pick(each, isKept))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).filter(([part]) => isKept(part.toLowerCase())))
}

/** Whether a request asks for an attribute or a part of it. The caller does not read an attribute that is not asked for. */
export function isAskedFor(name: string, query: AttributeQuery): boolean {
  const [wanted, unwanted] = [namesIn(query.attributes), namesIn(query.excludedAttributes)]
  return wanted ? [...wanted].some((each) => each === name || each.startsWith(`${name}.`)) : !unwanted?.has(name)
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
