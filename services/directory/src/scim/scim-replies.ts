import type { FastifyReply } from 'fastify'
import { type RawBuilder, sql } from 'kysely'
import { fieldsOf } from './scim-body.ts'
import { ScimError } from './scim-error.ts'
import { compileFilter, type FilterAttribute } from './scim-filter.ts'

/** The maximum number of resources on a page. */
export const largestPage = 200

const mediaType = 'application/scim+json; charset=utf-8'

/** Sends a body in the media type of SCIM. */
export const answer = (reply: FastifyReply, body: object) => reply.type(mediaType).serializer(JSON.stringify).send(body)

/** @throws ScimError */
export function refuse(status: number, detail: string): never {
  throw new ScimError(status, detail)
}

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
  if (typeof value !== 'string' || !/^-?\d{1,9}$/.test(value)) {
    throw new ScimError(400, `${name} must be a whole number`, 'invalidValue')
  }
  return Number(value)
}

/** The body of a search as query parameters (RFC 7644, 3.4.3). @throws ScimError 400. */
export const queryOf = (body: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fieldsOf(body, 'The body')).flatMap(([name, value]) =>
      value === null || (typeof value === 'object' && !Array.isArray(value)) ? [] : [[name, String(value)]],
    ),
  )

export interface Page {
  filter: RawBuilder<boolean>
  offset: number
  limit: number
}

/** The page of a list that a request asks for. @throws ScimError 400. */
export function readPage(query: unknown, attributes: Record<string, FilterAttribute>): Page {
  const { filter, startIndex, count } = query as Record<string, unknown>
  return {
    filter: typeof filter === 'string' && filter !== '' ? compileFilter(filter, attributes) : sql<boolean>`true`,
    offset: Math.max(1, wholeNumber(startIndex, 'startIndex') ?? 1) - 1,
    limit: Math.min(largestPage, Math.max(0, wholeNumber(count, 'count') ?? largestPage)),
  }
}
