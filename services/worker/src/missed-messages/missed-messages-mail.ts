import { wireChannelId } from '@parley/access'
import { escapeHtml, findServerName, htmlMail } from '@parley/accounts'
import { type Config, missedMessagesAfterSeconds } from '@parley/config'
import type { JobData } from '@parley/contract'
import { type Deps, messageAddress } from '@parley/service'
import type { Mail } from '../mail/mailer.ts'
import { messageHtml } from './message-html.ts'
import { findMissedBy, findMissedMessages, type MissedBy, type MissedMessage } from './missed-messages.queries.ts'

/** A longer text is cut. In characters. */
const longestText = 1_000

/**
 * The mail to a person about the messages of the job that they have still missed. Undefined when they have missed none of them, or when this server
 * no longer sends such mails.
 */
export async function findMissedMessagesMail(
  { db, config, clock }: Pick<Deps, 'db' | 'config' | 'clock'>,
  { userId, messageIds, more }: JobData<'send-missed-messages'>,
): Promise<Mail | undefined> {
  if (missedMessagesAfterSeconds(config) === null) return undefined
  const person = await findMissedBy(db, { userId, ids: messageIds, now: clock() })
  const missed = person ? await findMissedMessages(db, { userId, ids: person.messageIds }) : []
  if (!person || missed.length === 0) return undefined
  return missedMessagesMail({ person, missed, more, server: await findServerName(db), config })
}

interface MailFacts {
  person: MissedBy
  /** The messages that the mail shows, oldest first. */
  missed: MissedMessage[]
  /** The number of further messages. */
  more: number
  /** Name of the server. */
  server: string
  config: Pick<Config, 'auth' | 'email'>
}

function missedMessagesMail({ person, missed, more, server, config }: MailFacts): Mail {
  const { appUrl } = config.auth
  const { showText } = config.email.missedMessages
  const count = missed.length + more
  const what = count === 1 ? 'an unread message' : `${count} unread messages`
  const greeting = `Hello ${person.userName}, you have ${what} on ${server}.`
  const others = more > 0 ? `And ${more} more.` : undefined
  const reason =
    'You get these mails when no client is open for you. They are about direct messages and mentions. You can switch them off in your preferences:'
  const preferences = `${appUrl}/preferences`

  const text = [
    greeting,
    ...missed.map((message) =>
      [heading(message), showText ? quoted(shownText(message)) : '', addressOf(message, appUrl)]
        .filter(Boolean)
        .join('\n'),
    ),
    ...(others ? [others] : []),
    `${reason} ${preferences}`,
  ].join('\n\n')
  const html = htmlMail([
    `<p>${escapeHtml(greeting)}</p>`,
    ...missed.map(
      (message) =>
        `<div style="margin: 16px 0; border-left: 3px solid #94a3b8; padding-left: 12px">
<a href="${escapeHtml(addressOf(message, appUrl))}">${escapeHtml(heading(message))}</a>
${showText ? `<div dir="auto">${messageHtml(shownText(message))}</div>` : ''}
</div>`,
    ),
    ...(others ? [`<p>${others}</p>`] : []),
    `<p style="font-size: small">${reason} <a href="${escapeHtml(preferences)}">${escapeHtml(preferences)}</a></p>`,
  ])
  return {
    to: person.email,
    subject: count === 1 ? `${heading(missed[0]!)} (${server})` : `${count} unread messages on ${server}`,
    text: `${text}\n`,
    html,
    unsubscribeUrl: preferences,
  }
}

function heading({ author, kind, channelName, threadId, group }: MissedMessage): string {
  if (kind === 'direct') return `${author} wrote to you`
  return `${author} mentioned ${group === null ? 'you' : `@${group}`} in ${threadId === null ? '' : 'a thread of '}#${channelName}`
}

/** The text as its author typed it, and the number of files. */
function shownText({ content, files }: MissedMessage): string {
  const characters = [...content]
  const text = characters.length > longestText ? `${cut(characters)} …` : content
  const attached = files === 0 ? '' : files === 1 ? '(1 file)' : `(${files} files)`
  return [text, attached].filter(Boolean).join('\n')
}

/** The first characters, without the last word, because it may be a part of an address. */
const cut = (characters: string[]) => characters.slice(0, longestText).join('').replace(/\S*$/, '').trimEnd()

/** With a mark before each line, so that no message looks like a part of the mail itself. */
const quoted = (text: string) => text.replace(lineBreak, '\n').replace(/^/gm, '> ')

/** Everything that a mail program may show as the end of a line. */
const lineBreak = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/g

const addressOf = ({ id, channelId, kind, threadId }: MissedMessage, appUrl: string) =>
  messageAddress(appUrl, { id, channelId: wireChannelId({ id: channelId, kind }), threadId })
