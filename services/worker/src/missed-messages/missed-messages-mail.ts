import { wireChannelId } from '@parley/access'
import { escapeHtml, htmlMail } from '@parley/accounts'
import type { Config } from '@parley/config'
import type { JobData } from '@parley/contract'
import { messageHtml } from './message-html.ts'
import type { MissedBy, MissedMessage } from './missed-messages.queries.ts'

interface MailFacts {
  person: MissedBy
  /** The messages that the mail shows, oldest first. */
  missed: MissedMessage[]
  /** Name of the server. */
  server: string
  config: Pick<Config, 'auth' | 'email'>
}

/** A longer text is cut. In characters. */
const longestText = 1_000

/** The mail to a person about their missed messages. */
export function missedMessagesMail({ person, missed, server, config }: MailFacts): JobData<'send-missed-messages'> {
  const { appUrl } = config.auth
  const { showText } = config.email.missedMessages
  const what = person.count === 1 ? 'an unread message' : `${person.count} unread messages`
  const greeting = `Hello ${person.userName}, you have ${what} on ${server}.`
  const more = person.count > missed.length ? `And ${person.count - missed.length} more.` : undefined
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
    ...(more ? [more] : []),
    `${reason} ${preferences}`,
  ].join('\n\n')
  const html = htmlMail([
    `<p>${escapeHtml(greeting)}</p>`,
    ...missed.map(
      (message) =>
        `<div style="margin: 16px 0; border-left: 3px solid #cbd5e1; padding-left: 12px">
<a href="${escapeHtml(addressOf(message, appUrl))}">${escapeHtml(heading(message))}</a>
${showText ? messageHtml(shownText(message)) : ''}
</div>`,
    ),
    ...(more ? [`<p>${more}</p>`] : []),
    `<p style="color: #64748b">${reason} <a href="${escapeHtml(preferences)}">${escapeHtml(preferences)}</a></p>`,
  ])
  return {
    to: person.email,
    userId: person.userId,
    subject: subjectOf(person, missed, server),
    text: `${text}\n`,
    html,
  }
}

function subjectOf({ count }: MissedBy, missed: MissedMessage[], server: string): string {
  return count === 1 ? `${heading(missed[0]!)} (${server})` : `${count} unread messages on ${server}`
}

function heading({ author, kind, channelName, threadId }: MissedMessage): string {
  if (kind === 'direct') return `${author} wrote to you`
  return `${author} mentioned you in ${threadId === null ? '' : 'a thread of '}#${channelName}`
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
const quoted = (text: string) => text.replace(/^/gm, '> ')

function addressOf({ id, channelId, kind, threadId }: MissedMessage, appUrl: string): string {
  const place = wireChannelId({ id: channelId, kind })
  return `${appUrl}/c/${place}${threadId === null ? '' : `/t/${threadId}`}/m/${id}`
}
