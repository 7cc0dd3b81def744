import { hash, randomBytes } from 'node:crypto'
import { isUnset, type Reader } from '@parley/database'
import { LRUCache } from 'lru-cache'

const prefixes = { api: 'parley_pat_', scim: 'parley_scim_' }
const idBytes = 16
const secretBytes = 32
const textForm = /^parley_(?:pat|scim)_([\w-]{86})$/
const remembered = 20_000
const useMs = 60_000

/** The parts of an API token. Anybody can write such a text, so they prove nothing until the hash is compared. */
interface ApiTokenText {
  /** The id of the token's session. */
  tokenId: string
  userId: string
  /** SHA-256 of the whole text. */
  tokenHash: Buffer
}

/**
 * A new API token. It names its session and its user, so that both are looked up by their ids, and has 32 random bytes.
 * Only the hash of the text is stored.
 */
export function createApiToken(ids: { tokenId: string; userId: string }): { token: string; tokenHash: Buffer } {
  const bytes = Buffer.concat([bytesOf(ids.tokenId), bytesOf(ids.userId), randomBytes(secretBytes)])
  const token = prefixes.api + bytes.toString('base64url')
  return { token, tokenHash: hashOf(token) }
}

/** A new token of a SCIM client. It has the form of an API token but no session, so it is valid only for SCIM. */
export function createScimToken(clientId: string): { token: string; tokenHash: Buffer } {
  const { token } = createApiToken({ tokenId: clientId, userId: clientId })
  const scimToken = token.replace(prefixes.api, prefixes.scim)
  return { token: scimToken, tokenHash: hashOf(scimToken) }
}

/** Whether a text has the beginning of the token of a SCIM client. The token need not be valid. */
export const isScimToken = (token: string): boolean => token.startsWith(prefixes.scim)

/** Undefined for a text without the form of an API token. */
export function readApiToken(token: string): ApiTokenText | undefined {
  const [, text] = textForm.exec(token) ?? []
  if (text === undefined) return undefined
  const bytes = Buffer.from(text, 'base64url')
  const idAt = (start: number) => uuidOf(bytes.subarray(start, start + idBytes))
  return { tokenId: idAt(0), userId: idAt(idBytes), tokenHash: hashOf(token) }
}

const hashOf = (token: string) => hash('sha256', token, 'buffer')
const bytesOf = (id: string) => Buffer.from(id.replaceAll('-', ''), 'hex')
const uuidOf = (bytes: Buffer) => bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** Keeps `lastUsedAt` of API tokens, to the minute: a process writes it once a minute for each token, not with every request. */
export function createTokenUses(db: Reader, clock: () => number) {
  const noted = new LRUCache<string, number>({ max: remembered })
  return {
    /** Call it after a service has accepted the token of this session. */
    async note(tokenId: string): Promise<void> {
      const now = clock()
      if (now - (noted.get(tokenId) ?? 0) < useMs) return
      noted.set(tokenId, now)
      await db
        .updateTable('sessions')
        .set({ lastUsedAt: now })
        .where('id', '=', tokenId)
        .where(isUnset('endedAt'))
        .where('lastUsedAt', '<=', now - useMs)
        .execute()
    },
  }
}
