import type { Config } from '@parley/config'
import { recordJob, type Transaction, type UserRow } from '@parley/database'
import { type AttemptLimit, countAttempt } from './attempts.ts'
import { findServerName } from './link-mails.ts'

/** A mail about a change of the person's account, so that they notice when somebody else made it. */
type Notice =
  | 'new device'
  | 'password changed'
  | 'authenticator app added'
  | 'authenticator app removed'
  | 'passkey added'
  | 'passkey removed'
  | 'recovery code used'
  | 'second factors removed'

/** An attacker who can cause such mails must not fill the mailbox. */
const ofPerson: AttemptLimit = { kind: 'notice', most: 10 }

interface NoticeOptions {
  user: Pick<UserRow, 'id' | 'email' | 'userName' | 'deactivatedAt'>
  notice: Notice
  ip: string | null
  userAgent: string | null
  now: number
}

/**
 * Records a mail to the person in the transaction of the change, when the server sends mail and the person is not
 * deactivated. A person gets at most ten of them in 15 minutes.
 */
export async function mailNotice(
  trx: Transaction,
  { email, auth }: Pick<Config, 'email' | 'auth'>,
  { user, notice, ip, userAgent, now }: NoticeOptions,
): Promise<void> {
  if (email.host === undefined || user.deactivatedAt !== null || (await countAttempt(trx, ofPerson, user.id, now)) > 0)
    return
  const server = await findServerName(trx)
  const { subject, sentence } = wording[notice](server)
  const lines = [
    `Hello ${user.userName},`,
    sentence,
    `Time: ${new Date(now).toISOString().slice(0, 16).replace('T', ' ')} UTC\nAddress: ${ip ?? 'unknown'}\nProgram: ${userAgent ?? 'unknown'}`,
    `If this was you, nothing needs to be done. If not, open ${auth.appUrl} now, change your password, and end the other sessions there. If you cannot sign in, ask an admin.`,
  ]
  const text = `${lines.join('\n\n')}\n`
  await recordJob(trx, 'send-mail', { to: user.email, userId: user.id, subject, text })
}

const wording: Record<Notice, (server: string) => { subject: string; sentence: string }> = {
  'new device': (server) => ({
    subject: `New sign-in to ${server}`,
    sentence: `Somebody has signed in to your account on ${server} from a device that was not used for it before.`,
  }),
  'password changed': (server) => ({
    subject: `Your password for ${server} was changed`,
    sentence: `The password of your account on ${server} was changed.`,
  }),
  'authenticator app added': (server) => factor(server, 'An authenticator app was added to'),
  'authenticator app removed': (server) => factor(server, 'The authenticator app was removed from'),
  'passkey added': (server) => factor(server, 'A passkey was added to'),
  'passkey removed': (server) => factor(server, 'A passkey was removed from'),
  'recovery code used': (server) => factor(server, 'A recovery code was used to sign in to'),
  'second factors removed': (server) => factor(server, 'An admin removed all second factors from'),
}

const factor = (server: string, what: string) => ({
  subject: `Your second factor for ${server}`,
  sentence: `${what} your account on ${server}.`,
})
