import type { Config } from '@parley/config'
import type { LinkPurpose, Reader, Transaction } from '@parley/database'
import { createLinkTokens, type LinkClaims } from './link-tokens.ts'

export interface NewLink {
  purpose: LinkPurpose
  /** As `readEmail` answers it. */
  email: string
  /** Whose link it is; null for somebody who is not here yet. */
  userId: string | null
  now: number
}

export interface OneTimeLinks {
  /** Makes a link, which takes the place of an older one of the same purpose. Answers its address in the application. */
  issue(trx: Transaction, link: NewLink): Promise<string>
  /** What a token says; undefined for anything but a token of ours for this address. */
  read(token: string, email: string): LinkClaims | undefined
}

const hourMs = 3_600_000
const daysMs = 24 * hourMs

/** Links that are sent by mail and work once. */
export function createOneTimeLinks({ auth }: Pick<Config, 'auth'>): OneTimeLinks {
  const tokens = createLinkTokens([auth.jwtSecret].flat())
  const lifetimeMs = { login: auth.magicLinkExpirySeconds * 1000, reset: hourMs, invite: 7 * daysMs }

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

/** The link as it stands, without using it up; undefined when it was used, replaced or is too old. */
export const findLink = (db: Reader, { email, purpose, tokenHash }: LinkClaims, now: number) =>
  db
    .selectFrom('oneTimeLinks')
    .select('userId')
    .where('email', '=', email)
    .where('purpose', '=', purpose)
    .where('tokenHash', '=', tokenHash)
    .where('expiresAt', '>', now)
    .executeTakeFirst()

/** Uses a link up; of any number of users at once one gets it. People come before links in the order of locks. */
export const takeLink = (trx: Transaction, { email, purpose, tokenHash }: LinkClaims, now: number) =>
  trx
    .deleteFrom('oneTimeLinks')
    .where('email', '=', email)
    .where('purpose', '=', purpose)
    .where('tokenHash', '=', tokenHash)
    .where('expiresAt', '>', now)
    .returning('userId')
    .executeTakeFirst()

/** Kills the links by which a password could be set. */
export async function deletePasswordLinks(trx: Transaction, email: string): Promise<void> {
  await trx.deleteFrom('oneTimeLinks').where('email', '=', email).where('purpose', 'in', ['invite', 'reset']).execute()
}

function addressOf(appUrl: string, purpose: LinkPurpose, token: string, email: string): string {
  const query = new URLSearchParams({ token, email, ...(purpose === 'invite' && { invite: 'true' }) })
  return `${appUrl}/${purpose === 'reset' ? 'reset' : ''}?${query}`
}
