import { countMail, findUserByEmail, type Mail, type OneTimeLinks } from '@parley/accounts'
import { type Database, type LinkPurpose, recordJob, type UserRow } from '@parley/database'
import { sql } from 'kysely'

export interface LinkRequest {
  purpose: LinkPurpose
  email: string
  now: number
  /** Whether whoever has the address, if anybody does, gets a link. */
  isEntitled(user: UserRow | undefined): boolean
  /** The mail that carries the link. */
  write(link: string): Mail
}

/** For the answer to whoever asks for a link: as true for strangers as for members. */
export const linkIsUnderWay =
  'If this address belongs to somebody here, a link is on its way to it. There are at most five in 15 minutes.'

/**
 * Mails a link to whoever is entitled to one, at most five mails an address in 15 minutes. Nobody learns from it who is: for
 * everybody else the same is done, and undone again.
 */
export async function mailLink(db: Database, links: OneTimeLinks, request: LinkRequest): Promise<void> {
  const { purpose, email, now, isEntitled, write } = request
  await db.transaction().execute(async (trx) => {
    if ((await countMail(trx, email, now)) > 0) return
    const user = await findUserByEmail(trx, email)

    await sql`savepoint mail`.execute(trx)
    const link = await links.issue(trx, { purpose, email, userId: user?.id ?? null, now })
    await recordJob(trx, 'send-mail', write(link))
    await (isEntitled(user) ? sql`release savepoint mail` : sql`rollback to savepoint mail`).execute(trx)
  })
}
