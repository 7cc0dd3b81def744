import type { Config } from '@parley/config'
import { type JobData, type Language, tooMany } from '@parley/contract'
import type { Reader, Transaction } from '@parley/database'
import { escapeHtml, htmlMail, type Invitation, type LinkTexts, mailTexts } from '@parley/mail'
import { type AttemptLimit, countAttempt, everybody, findWait } from './attempts.ts'
import { countedSpelling } from './emails.ts'
import { networkOf } from './networks.ts'

export type Mail = JobData<'send-mail'>

/** Limits of the mails that people request without having signed in. Each limit is for 15 minutes. */
const ofAddress: AttemptLimit = { kind: 'mail', most: 5 }
const ofNetwork = ({ email }: Pick<Config, 'email'>): AttemptLimit => ({
  kind: 'mail for network',
  most: email.perNetwork,
})
const ofServer = ({ email }: Pick<Config, 'email'>): AttemptLimit => ({ kind: 'mail of server', most: email.perServer })
/** Mails that admins send are counted separately, so that nobody can use up their limit by requesting links. */
const byAdmins: AttemptLimit = { kind: 'mail by admin', most: 5 }

/** Somebody who has not signed in asks for a mail. */
export interface MailRequest {
  email: string
  ip: string
  now: number
}

/**
 * Counts a request for a mail, also when no mail is sent. Returns whether a mail may be sent: an address gets five, and
 * spellings with another part after `+`, or with the other form of the domain, count as one address. The counted rows stay locked until the end of the
 * transaction.
 * @throws ApiError 429 when the network has asked too often or the server has sent too many mails. The first limit does
 * not depend on whether an account exists. The second one counts only mails that were sent.
 */
export async function countMailRequest(trx: Transaction, config: Config, request: MailRequest): Promise<boolean> {
  const { email, ip, now } = request
  const seconds = await countAttempt(trx, ofNetwork(config), networkOf(ip), now)
  if (seconds > 0) throw tooMany('Too many mails were requested from your network. Please try again later', seconds)
  const wait = await findWait(trx, ofServer(config), everybody, now)
  if (wait > 0) throw tooMany('The server has sent too many mails. Please try again later', wait)
  return (await countAttempt(trx, ofAddress, baseAddress(email), now)) === 0
}

/** Counts a mail that somebody requested. Returns whether it may be sent. */
export const countRequestedMail = async (trx: Transaction, config: Config, now: number): Promise<boolean> =>
  (await countAttempt(trx, ofServer(config), everybody, now)) === 0

/** Counts a mail that an admin sends to an address: 5 in 15 minutes. Returns 0, or the seconds until another one may be sent. */
export const countMailByAdmin = (trx: Transaction, email: string, now: number) =>
  countAttempt(trx, byAdmins, countedSpelling(email), now)

/** Many mail servers deliver `ann+anything@example.com` to `ann@example.com`. */
const baseAddress = (email: string) => countedSpelling(email).replace(/^([^+@]+)\+[^@]*@/, '$1@')

/** The mail with a magic link, from the templates of the configuration if there are any. */
export function magicLinkMail({ auth, email }: Pick<Config, 'auth' | 'email'>, { to, link, language }: LinkMail): Mail {
  const minutes = Math.max(1, Math.round(auth.magicLinkExpirySeconds / 60))
  const { textVersion, htmlVersion } = auth.templates
  const texts = mailTexts(language).magicLink(minutes)
  const standard = linkMail({ to, link, language }, { ...texts, subject: email.emailSubject ?? texts.subject })
  const text = textVersion ? textVersion(link, minutes) : standard.text
  // With a template only for the text, the standard HTML would differ from it.
  const html = htmlVersion ? htmlVersion(link, minutes) : textVersion ? undefined : standard.html
  if (typeof text !== 'string' || (html !== undefined && typeof html !== 'string')) {
    throw new TypeError('auth.templates must return texts')
  }
  return { to, subject: standard.subject, text, ...(html !== undefined && { html }) }
}

/** The mail with which a new person signs in for the first time. */
export const inviteMail = (mail: LinkMail, invitation: Invitation): Mail =>
  linkMail(mail, mailTexts(mail.language).invitation(invitation))

/** The mail with the link for a new password. `server`: its name. */
export const resetMail = (mail: LinkMail, { server }: { server: string }): Mail =>
  linkMail(mail, mailTexts(mail.language).reset(server))

/** The name of the server, as people see it. */
export const findServerName = async (db: Reader): Promise<string> =>
  (await db.selectFrom('serverSettings').select('name').executeTakeFirst())?.name ?? 'Parley'

interface LinkMail {
  to: string
  link: string
  language: Language
}

function linkMail({ to, link, language }: LinkMail, { subject, opening, action, closing }: LinkTexts): Mail {
  const html = htmlMail(language, [
    `<p>${escapeHtml(opening)}</p>`,
    `<p><a href="${escapeHtml(link)}" style="display: inline-block; padding: 10px 16px; border-radius: 6px; background: #1d4ed8; color: #ffffff; text-decoration: none">${escapeHtml(action)}</a></p>`,
    `<p>${mailTexts(language).orOpen} <br>${escapeHtml(link)}</p>`,
    `<p>${escapeHtml(closing)}</p>`,
  ])
  return { to, subject, text: `${opening}\n\n${link}\n\n${closing}\n`, html }
}
