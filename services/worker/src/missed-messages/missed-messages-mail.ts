import { wireChannelId } from '@parley/access'
import { findServerName } from '@parley/accounts'
import { type Config, missedMessagesAfterSeconds } from '@parley/config'
import type { JobData } from '@parley/contract'
import { directionOf, escapeHtml, htmlMail, type MailTexts, mailTexts } from '@parley/mail'
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
  const language = person.language ?? config.email.language
  const texts = mailTexts(language)
  const { subject, greeting, more: others, reason } = texts.missedMessages
  const count = missed.length + more
  const preferences = `${appUrl}/preferences`
  const side = directionOf(language) === 'rtl' ? 'right' : 'left'
  const shown = missed.map((message) => ({
    heading: headingOf(message, texts),
    text: showText ? shownText(message, texts) : undefined,
    address: addressOf(message, appUrl),
  }))

  const text = [
    greeting(person.userName, count, server),
    ...shown.map(({ heading, text, address }) => [heading, text && quoted(text), address].filter(Boolean).join('\n')),
    ...(more > 0 ? [others(more)] : []),
    `${reason} ${preferences}`,
  ].join('\n\n')
  const html = htmlMail(language, [
    `<p>${escapeHtml(greeting(person.userName, count, server))}</p>`,
    ...shown.map(
      ({ heading, text, address }) =>
        `<div style="margin: 16px 0; border-${side}: 3px solid #94a3b8; padding-${side}: 12px">
<a href="${escapeHtml(address)}">${escapeHtml(heading)}</a>
${text === undefined ? '' : `<div dir="auto">${messageHtml(text)}</div>`}
</div>`,
    ),
    ...(more > 0 ? [`<p>${others(more)}</p>`] : []),
    `<p style="font-size: small">${reason} <a href="${escapeHtml(preferences)}">${escapeHtml(preferences)}</a></p>`,
  ])
  return {
    to: person.email,
    subject: count === 1 ? `${shown[0]!.heading} (${server})` : subject(count, server),
    text: `${text}\n`,
    html,
    unsubscribeUrl: preferences,
  }
}

function headingOf({ author, kind, channelName, threadId, group }: MissedMessage, texts: MailTexts): string {
  const { wroteToYou, mentioned } = texts.missedMessages
  const name = author ?? texts.somebody
  if (kind === 'direct') return wroteToYou(name)
  return mentioned({
    author: name,
    whom: group === null ? null : `@${group}`,
    channel: `#${channelName}`,
    isThread: threadId !== null,
  })
}

/** The text as its author typed it, and the number of files. */
function shownText({ content, files }: MissedMessage, { missedMessages }: MailTexts): string {
  const characters = [...content]
  const text = characters.length > longestText ? `${cut(characters)} …` : content
  return [text, files === 0 ? '' : `(${missedMessages.files(files)})`].filter(Boolean).join('\n')
}

/** The first characters, without the last word, because it may be a part of an address. */
const cut = (characters: string[]) => characters.slice(0, longestText).join('').replace(/\S*$/, '').trimEnd()

/** With a mark before each line, so that no message looks like a part of the mail itself. */
const quoted = (text: string) => text.replace(lineBreak, '\n').replace(/^/gm, '> ')

/** Everything that a mail program may show as the end of a line. */
const lineBreak = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/g

const addressOf = ({ id, channelId, kind, threadId }: MissedMessage, appUrl: string) =>
  messageAddress(appUrl, { id, channelId: wireChannelId({ id: channelId, kind }), threadId })
