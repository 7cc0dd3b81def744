import {
  type Act,
  countMail,
  createOneTimeLinks,
  createUser,
  findServerName,
  inviteMail,
  lockUserIfLive,
  type NewUser,
} from '@parley/accounts'
import type { Config } from '@parley/config'
import { invalid, notFound, tooMany } from '@parley/contract'
import { isRowId, recordJob, type Transaction, type UserRow } from '@parley/database'

type AddedUser = Pick<NewUser, 'email' | 'isAdmin' | 'passwordHash'>

/** An admin adds somebody. @throws ApiError 400 when somebody has the address. */
export async function addUser(trx: Transaction, added: AddedUser, { caller, ip, now }: Act): Promise<UserRow> {
  const user = await createUser(trx, { ...added, actorId: caller.userId, ip, now })
  if (!user) throw invalid('There is somebody with this e-mail address already', 'duplicate')
  return user
}

/** Somebody who was added and has no password yet. @throws ApiError 404 when there is nobody, 400 when they have one. */
export async function lockInvited(trx: Transaction, userId: string): Promise<UserRow> {
  const user = isRowId(userId) ? await lockUserIfLive(trx, userId) : undefined
  if (!user) throw notFound('user')
  if (user.passwordHash) throw invalid('They have a password already')
  return user
}

/**
 * Makes what sends somebody who has no password a link to choose one: in password mode, when there is e-mail. Elsewhere it does
 * nothing: they come in by other means, or an admin gives them a password.
 */
export function createInvitations(config: Config) {
  const links = createOneTimeLinks(config)
  const mailsInvitations = config.auth.authMode === 'password' && config.email.host !== undefined

  /** The mail goes with the transaction. Answers whether there is one. @throws ApiError 429 when the address was sent too many. */
  return async function invite(trx: Transaction, { id, email }: UserRow, { caller, now }: Act): Promise<boolean> {
    if (!mailsInvitations) return false
    const seconds = await countMail(trx, email, now)
    if (seconds > 0) throw tooMany('This address was sent too many mails, please try again later', seconds)
    const link = await links.issue(trx, { purpose: 'invite', email, userId: id, now })
    const from = { server: await findServerName(trx), inviter: caller.userName }
    await recordJob(trx, 'send-mail', inviteMail(email, link, from))
    return true
  }
}
