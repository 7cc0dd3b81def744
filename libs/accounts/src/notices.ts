import type { Config } from '@parley/config'
import { recordJob, type Transaction, type UserRow } from '@parley/database'
import { type MailTexts, mailTexts } from '@parley/mail'
import { type AttemptLimit, countAttempt } from './attempts.ts'
import { findServerName } from './link-mails.ts'

/** The change that a mail is about, so that the person notices when somebody else made it. */
type Notice = keyof MailTexts['notices']

/** An attacker who can cause such mails must not fill the mailbox. */
const ofPerson: AttemptLimit = { kind: 'notice', most: 10 }

interface NoticeOptions {
  user: Pick<UserRow, 'id' | 'email' | 'userName' | 'deactivatedAt' | 'language'>
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
  const texts = mailTexts(user.language ?? email.language)
  const { subject, sentence } = texts.notices[notice](await findServerName(trx))
  const time = `${new Date(now).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  const lines = [
    texts.hello(user.userName),
    sentence,
    texts.origin({ time, address: ip ?? texts.unknown, program: userAgent ?? texts.unknown }),
    texts.ifNotYou(auth.appUrl),
  ]
  const text = `${lines.join('\n\n')}\n`
  await recordJob(trx, 'send-mail', { to: user.email, userId: user.id, subject, text })
}
