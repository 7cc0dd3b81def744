import type { Message } from '@parley/contract'
import { messageAddress } from '../app/address.ts'
import { shownPerson } from '../app/shown-person.ts'
import type { Workspace } from '../app/workspace.ts'
import { dateTimeOf, momentOf, timeOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { renderStatusEmoji } from './status-emoji.tsx'

interface HeadProps {
  message: Message
  workspace: Workspace
  userName: string
  /** The prefix of the ids of elements that name the message. */
  ids: string
  isDated: boolean
  isInUse: boolean
}

/** The author and the time of a message. */
export const renderHead = ({ message, workspace, userName, ids, isDated, isInUse }: HeadProps) => {
  const { author } = message
  return (
    <div class="message-head">
      <span class="author" id={`${ids}-author`}>
        {author.isBot ? (
          <bdi>{userName}</bdi>
        ) : (
          <button type="button" class="name-button" onClick={() => (shownPerson.value = author)}>
            <bdi>{userName}</bdi>
          </button>
        )}{' '}
        {author.isBot && <span class="bot">{t('BOT')}</span>}{' '}
        {author.webhookName !== undefined && (
          <span class="quiet" dir="auto">
            {t('via {name}', { name: author.webhookName })}
          </span>
        )}
      </span>
      {renderStatusEmoji(workspace, author.id)}
      {renderTime({ message, id: `${ids}-time`, class: 'time', isDated, isInUse })}
    </div>
  )
}

/** The accessible name of a message whose author is not shown. */
export const nameOf = ({ author, createdAt }: Message, userName: string) =>
  [
    userName,
    author.isBot && t('BOT'),
    author.webhookName !== undefined && t('via {name}', { name: author.webhookName }),
    timeOf(createdAt),
  ]
    .filter(Boolean)
    .join(' ')

interface TimeProps {
  message: Message
  id?: string
  class: string
  isDated?: boolean
  /** Whether the pointer or the focus is on the message. Only then the title is set. */
  isInUse: boolean
}

/** The time of a message. In search results there are no day lines, so `isDated` adds the date. */
export const renderTime = ({
  message: { id, channelId, createdAt, threadId },
  isDated = false,
  isInUse,
  ...props
}: TimeProps) => (
  <a
    class={props.class}
    id={props.id}
    href={messageAddress(channelId, id, threadId)}
    title={isInUse ? dateTimeOf(createdAt) : undefined}
  >
    <time dateTime={new Date(createdAt).toISOString()}>{isDated ? momentOf(createdAt) : timeOf(createdAt)}</time>
  </a>
)
