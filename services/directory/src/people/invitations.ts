import { countMailByAdmin, createOneTimeLinks, findServerName, inviteMail, type RequestContext } from '@parley/accounts'
import type { Config } from '@parley/config'
import { invalid, tooMany } from '@parley/contract'
import { recordJob, type Transaction, type UserRow } from '@parley/database'

/**
 * Sends a link to people who were added: to choose a password in password mode, or to sign in in magic-link mode. In
 * dev mode, and in password mode without e-mail, there are no invitations: people sign in in other ways, or an admin
 * gives them a password.
 */
export function createInvitations(config: Config) {
  const links = createOneTimeLinks(config)
  const { authMode } = config.auth
  const areMailed = authMode !== 'dev' && config.email.host !== undefined

  /** Whether the person needs an invitation. In password mode, people with a password need none. */
  const isFor = ({ passwordHash }: UserRow) => authMode !== 'password' || !passwordHash

  /**
   * Records the mail in the transaction. Returns whether there is one. @throws ApiError 429 when too many mails were
   * sent to the address.
   */
  async function send(
    trx: Transaction,
    { id, email, deactivatedAt, language }: UserRow,
    { caller, now }: RequestContext,
  ): Promise<boolean> {
    if (!areMailed) return false
    if (deactivatedAt !== null) throw invalid('This person is deactivated')
    const seconds = await countMailByAdmin(trx, email, now)
    if (seconds > 0) throw tooMany('Too many mails were sent to this address. Please try again later', seconds)
    const link = await links.issue(trx, { purpose: 'invite', email, userId: id, now })
    const from = { server: await findServerName(trx), inviter: caller.userName }
    const mail = inviteMail(
      { to: email, link, language: language ?? config.email.language },
      { ...from, setsPassword: authMode === 'password' },
    )
    await recordJob(trx, 'send-mail', { ...mail, userId: id })
    return true
  }

  return { isFor, send }
}
