import { scimRefusal } from '@parley/service'
import type { FastifyReply } from 'fastify'

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
