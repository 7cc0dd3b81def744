import { timingSafeEqual } from 'node:crypto'
import { unauthorized } from '@parley/contract'
import type { GroupActor } from '@parley/groups'
import { isScimToken } from '@parley/identity'
import { bearerToken, type Deps } from '@parley/service'
import type { FastifyRequest } from 'fastify'

/** The author of a change by a directory, which is its SCIM client, and the settings for the change. */
export interface ScimContext extends GroupActor {
  source: 'scim'
  /** `chat.autoJoin` */
  autoJoin: readonly string[]
  /** `scim.adminGroups` */
  adminGroups: readonly string[]
}

/** A change of a resource whose version must be one of those in `If-Match`. */
export interface ScimChangeContext extends ScimContext {
  ifMatch: string | undefined
}

/** `lastUsedAt` of a client is stored to the minute. */
const useMs = 60_000

/** The SCIM client whose token the request has, as an actor. Notes that it was used. @throws ApiError 401. */
export async function findScimClient({ db, tokens, clock }: Deps, request: FastifyRequest): Promise<string> {
  const { sessionId: clientId, tokenHash } = request.claims
  const client = isScimToken(bearerToken(request))
    ? await db
        .selectFrom('scimClients')
        .select(['tokenHash', 'lastUsedAt'])
        .where('id', '=', clientId)
        .where('deletedAt', 'is', null)
        .executeTakeFirst()
    : undefined
  if (!client || !tokenHash || !timingSafeEqual(client.tokenHash, tokenHash)) {
    throw unauthorized('The token is not that of a SCIM client')
  }
  tokens.noteGenuine(request.claims)
  const now = clock()
  if (now - (client.lastUsedAt ?? 0) >= useMs) {
    await db.updateTable('scimClients').set({ lastUsedAt: now }).where('id', '=', clientId).execute()
  }
  return `scim:${clientId}`
}
