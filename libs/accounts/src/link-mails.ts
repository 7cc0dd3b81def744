import type { Config } from '@parley/config'
import type { JobData } from '@parley/contract'
import type { Reader } from '@parley/database'
import { type AttemptLimit, countAttempt } from './attempts.ts'

export type Mail = JobData<'send-mail'>

const perAddress: AttemptLimit = { kind: 'mail', most: 5 }

/**
 * Counts a mail to an address: 5 in 15 minutes. Answers 0, or the seconds until there may be another. The address's row stays
 * locked until the end of the transaction.
 */
export const countMail = (db: Reader, email: string, now: number) => countAttempt(db, perAddress, email, now)

/** The mail with a magic link, by the templates of the configuration where there are some. */
export function magicLinkMail({ auth, email }: Pick<Config, 'auth' | 'email'>, to: string, link: string): Mail {
  const minutes = Math.max(1, Math.round(auth.magicLinkExpirySeconds / 60))
  const { textVersion, htmlVersion } = auth.templates
  const standard = linkMail({
    to,
    subject: email.emailSubject,
    opening: 'Use this link to sign in:',
    action: 'Sign in',
    link,
    closing: `It works once, within ${minutes === 1 ? 'a minute' : `${minutes} minutes`}. If you did not ask for it, nothing needs to be done.`,
  })
  const text = textVersion ? textVersion(link, minutes) : standard.text
  // Whoever words the text anew does not want the standard words beside it.
  const html = htmlVersion ? htmlVersion(link, minutes) : textVersion ? undefined : standard.html
  if (typeof text !== 'string' || (html !== undefined && typeof html !== 'string')) {
    throw new TypeError('auth.templates must answer texts')
  }
  return { to, subject: standard.subject, text, ...(html !== undefined && { html }) }
}

/** The mail by which somebody who was added sets their first password. `server` is its name, `inviter` who added them. */
export const inviteMail = (to: string, link: string, { server, inviter }: { server: string; inviter: string }): Mail =>
  linkMail({
    to,
    subject: `You are invited to ${server}`,
    opening: `${inviter} has added you to ${server}. Choose a password to come in:`,
    action: 'Choose a password',
    link,
    closing: 'The link works once, within 7 days.',
  })

/** The mail by which somebody sets a new password. */
export const resetMail = (to: string, link: string, { server }: { server: string }): Mail =>
  linkMail({
    to,
    subject: `Your password for ${server}`,
    opening: `Somebody, probably you, wants to choose a new password for ${server}:`,
    action: 'Choose a new password',
    link,
    closing:
      'The link works once, within an hour, and signs you out everywhere else. If you did not ask for it, nothing needs to be done.',
  })

/** The name of the server, as people see it. */
export const findServerName = async (db: Reader): Promise<string> =>
  (await db.selectFrom('serverSettings').select('name').executeTakeFirst())?.name ?? 'Parley'

interface LinkMail {
  to: string
  subject: string
  opening: string
  /** What the link does, in a word or two. */
  action: string
  link: string
  closing: string
}

function linkMail({ to, subject, opening, action, link, closing }: LinkMail): Mail {
  const html = `<!doctype html>
<html lang="en">
<body style="font-family: sans-serif; line-height: 1.5">
<p>${escaped(opening)}</p>
<p><a href="${escaped(link)}" style="display: inline-block; padding: 10px 16px; border-radius: 6px; background: #1d4ed8; color: #ffffff; text-decoration: none">${escaped(action)}</a></p>
<p>Or open this address: <br>${escaped(link)}</p>
<p>${escaped(closing)}</p>
</body>
</html>
`
  return { to, subject, text: `${opening}\n\n${link}\n\n${closing}\n`, html }
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => entities[character]!)
