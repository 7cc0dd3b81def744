import {
  type Act,
  countMailByAdmin,
  createOneTimeLinks,
  createUser,
  findServerName,
  inviteMail,
  type NewUser,
} from '@parley/accounts'
import type { Config } from '@parley/config'
import { invalid, tooMany } from '@parley/contract'
import { recordJob, type Transaction, type UserRow } from '@parley/database'

type AddedUser = Pick<NewUser, 'email' | 'isAdmin' | 'passwordHash' | 'autoJoin'>

/** An admin adds somebody. @throws ApiError 400 when somebody has the address. */
export async function addUser(trx: Transaction, added: AddedUser, { caller, ip, now }: Act): Promise<UserRow> {
  const user = await createUser(trx, { ...added, actorId: caller.userId, ip, now })
  if (!user) throw invalid('This e-mail address is already in use', 'duplicate')
  return user
}

/**
 * Sends people who were added the link by which they come in: to choose a password in password mode, to sign in in magic-link
 * mode. In dev mode, and in password mode without e-mail, there are no invitations: people come in by other means, or an admin
 * gives them a password.
 */
export function createInvitations(config: Config) {
  const links = createOneTimeLinks(config)
  const { authMode } = config.auth
  const areMailed = authMode !== 'dev' && config.email.host !== undefined

  /** Whether the person needs an invitation: in password mode nobody does who has a password. */
  const isFor = ({ passwordHash }: UserRow) => authMode !== 'password' || !passwordHash

  /** The mail goes with the transaction. Answers whether there is one. @throws ApiError 429 when the address was sent too many. */
  async function send(trx: Transaction, { id, email }: UserRow, { caller, now }: Act): Promise<boolean> {
    if (!areMailed) return false
    const seconds = await countMailByAdmin(trx, email, now)
    if (seconds > 0) throw tooMany('Too many mails were sent to this address. Please try again later', seconds)
    const link = await links.issue(trx, { purpose: 'invite', email, userId: id, now })
    const from = { server: await findServerName(trx), inviter: caller.userName }
    await recordJob(trx, 'send-mail', inviteMail(email, link, { ...from, setsPassword: authMode === 'password' }))
    return true
  }

  return { isFor, send }
}
