import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Config } from '@parley/config'
import type { LinkPurpose, Reader, Transaction } from '@parley/database'
import { base64urlOf32Bytes } from '@parley/identity'
import { spellingsOf } from './emails.ts'

interface NewLink {
  purpose: LinkPurpose
  /** The result of `readEmail`. */
  email: string
  /** The owner of the link; null for somebody who has no account yet. */
  userId: string | null
  now: number
}

export interface OneTimeLinks {
  /** Creates a link, which replaces an older one of the same purpose. Returns its URL in the application. */
  issue(trx: Transaction, link: NewLink): Promise<string>
  /** The claims of a token; undefined unless this server issued it for this address. */
  read(token: string, email: string): LinkClaims | undefined
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Links that are sent by mail and work once. */
export function createOneTimeLinks({ auth }: Pick<Config, 'auth'>): OneTimeLinks {
  const tokens = createLinkTokens([auth.jwtSecret].flat())
  const lifetimeMs = { login: auth.magicLinkExpirySeconds * 1000, reset: hourMs, invite: 7 * dayMs }

  return {
    async issue(trx, { purpose, email, userId, now }) {
      const { token, tokenHash } = tokens.issue(purpose, email)
      const row = { tokenHash, userId, expiresAt: now + lifetimeMs[purpose] }
      await trx
        .insertInto('oneTimeLinks')
        .values({ email, purpose, ...row })
        .onConflict((conflict) => conflict.columns(['email', 'purpose']).doUpdateSet(row))
        .execute()
      return addressOf(auth.appUrl, purpose, token, email)
    },
    read: tokens.read,
  }
}

/** The link, without consuming it; undefined when it was used or replaced or has expired. */
export const findLink = (db: Reader, { email, purpose, tokenHash }: LinkClaims, now: number) =>
  db
    .selectFrom('oneTimeLinks')
    .select('userId')
    .where('email', '=', email)
    .where('purpose', '=', purpose)
    .where('tokenHash', '=', tokenHash)
    .where('expiresAt', '>', now)
    .executeTakeFirst()

/** Consumes a link. Only one of several concurrent requests gets it. Rows of people must be locked before links. */
export const takeLink = (trx: Transaction, { email, purpose, tokenHash }: LinkClaims, now: number) =>
  trx
    .deleteFrom('oneTimeLinks')
    .where('email', '=', email)
    .where('purpose', '=', purpose)
    .where('tokenHash', '=', tokenHash)
    .where('expiresAt', '>', now)
    .returning('userId')
    .executeTakeFirst()

/** Deletes the links that could set a password. */
export async function deletePasswordLinks(trx: Transaction, email: string): Promise<void> {
  await linksTo(trx, email).where('purpose', 'in', ['invite', 'reset']).execute()
}

/** Deletes all links that were mailed to an address. Call it when the address does not belong to its person any more. */
export async function deleteLinks(trx: Transaction, email: string): Promise<void> {
  await linksTo(trx, email).execute()
}

const linksTo = (trx: Transaction, email: string) =>
  trx.deleteFrom('oneTimeLinks').where('email', 'in', spellingsOf(email))

function addressOf(appUrl: string, purpose: LinkPurpose, token: string, email: string): string {
  const query = new URLSearchParams({ token, email, ...(purpose === 'invite' && { invite: 'true' }) })
  return `${appUrl}/${purpose === 'reset' ? 'reset' : ''}?${query}`
}

/** The claims of a one-time link's token, after its signature was verified. */
export interface LinkClaims {
  purpose: LinkPurpose
  email: string
  tokenHash: Buffer
}

/**
 * Tokens of one-time links: purpose, 128 random bits, and a MAC over both and the address. The MAC reveals forged
 * tokens without a query. The row of a link, which stores only a digest, decides whether it still works. The first
 * secret signs, and all verify.
 */
export function createLinkTokens(secrets: readonly string[]) {
  function issue(purpose: LinkPurpose, email: string): { token: string; tokenHash: Buffer } {
    const id = randomBytes(16).toString('base64url')
    const token = `${purpose}.${id}.${mac(secrets[0]!, purpose, email, id).toString('base64url')}`
    return { token, tokenHash: digest(token) }
  }

  /** Undefined unless this server issued the token for this address. */
  function read(token: string, email: string): LinkClaims | undefined {
    const [, purpose, id, signature] = form.exec(token) ?? []
    if (!purpose || !id || !signature) return undefined
    const given = Buffer.from(signature, 'base64url')
    const isOurs = secrets.some((secret) => timingSafeEqual(given, mac(secret, purpose, email, id)))
    return isOurs ? { purpose: purpose as LinkPurpose, email, tokenHash: digest(token) } : undefined
  }

  return { issue, read }
}

// The last characters are those that an encoder writes for 16 and 32 bytes, so that every token has only one spelling.
const form = new RegExp(`^(login|invite|reset)\\.([\\w-]{21}[AQgw])\\.(${base64urlOf32Bytes})$`)

const mac = (secret: string, purpose: string, email: string, id: string) =>
  createHmac('sha256', secret).update(`parley link\0${purpose}\0${email}\0${id}`).digest()

const digest = (token: string) => createHash('sha256').update(token).digest()
