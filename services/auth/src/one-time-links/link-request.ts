import {
  countMailRequest,
  countRequestedMail,
  findUserByEmail,
  type Mail,
  type MailRequest,
  type OneTimeLinks,
} from '@parley/accounts'
import type { Config } from '@parley/config'
import { type Language, limits, Ok, refusals } from '@parley/contract'
import { type Database, type LinkPurpose, recordJob, type UserRow } from '@parley/database'
import { sql } from 'kysely'
import { Type } from 'typebox'

/** The part of the schema that is the same for all requests for a link by mail. */
export const linkRequestSchema = {
  description: 'The response does not reveal whether somebody has the address.',
  body: Type.Object({ email: Type.String({ maxLength: limits.email }) }),
  response: { 200: Type.Object({ ...Ok.properties, message: Type.String() }), ...refusals(400, 404, 429) },
}

interface LinkRequest extends MailRequest {
  purpose: LinkPurpose
  /** Whether the link may be sent. `user` is undefined when nobody has the address. */
  isEntitled(user: UserRow | undefined): boolean
  /** The language of the request. Undefined when it names none of ours. */
  language: Language | undefined
  /** The mail that carries the link. */
  write(mail: { to: string; link: string; language: Language }): Mail
}

/** The message of the response. It does not reveal whether the address is known. */
export const linkSentMessage =
  'If this address belongs to somebody here, a link is on its way to it. At most five links are sent in 15 minutes.'

/** The sentence for a link that was used, is too old, or is not a link of this server for this address. */
export const linkNotValid =
  'This link is not valid any more. A link works once and for a limited time. Please ask for a new one'

/**
 * Mails a link within the limits of `countMailRequest`. The response and its duration do not reveal who is entitled to a link: for other
 * addresses the same work is done and rolled back.
 * @throws ApiError 429
 */
export async function mailLink(
  { db, config }: { db: Database; config: Config },
  links: OneTimeLinks,
  request: LinkRequest,
): Promise<void> {
  const { purpose, email, now, isEntitled, write } = request
  await db.transaction().execute(async (trx) => {
    if (!(await countMailRequest(trx, config, request))) return
    const user = await findUserByEmail(trx, email)

    await sql`savepoint mail`.execute(trx)
    const isWithinLimit = await countRequestedMail(trx, config, now)
    const link = await links.issue(trx, { purpose, email, userId: user?.id ?? null, now })
    const language = user?.language ?? request.language ?? config.email.language
    const mail = write({ to: email, link, language })
    await recordJob(trx, 'send-mail', { ...mail, ...(user && { userId: user.id }) })
    const isSent = isWithinLimit && isEntitled(user)
    await (isSent ? sql`release savepoint mail` : sql`rollback to savepoint mail`).execute(trx)
  })
}
