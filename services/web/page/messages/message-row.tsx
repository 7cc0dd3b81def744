import type { Message } from '@parley/contract'
import type { Workspace } from '../app/workspace.ts'
import { dayOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { memo } from '../ui/memo.ts'
import { MessageArticle } from './message.tsx'
import { PendingArticle } from './pending-article.tsx'
import type { Row } from './rows.ts'

interface MessageRowProps {
  row: Row
  workspace: Workspace
  view: 'channel' | 'thread'
  isReachedByTab: boolean
  isEditing: boolean
  isResumed: boolean | undefined
  onEdit: (id: string | undefined) => void
  onQuote?: ((message: Message) => void) | undefined
  onMarkUnread?: ((message: Message) => void) | undefined
}

/**
 * The id of the line above a message. Nobody who moves from message to message hears the line itself, so it is in the
 * message's name. The first message of a thread is in the channel too.
 */
const lineIdOf = (view: MessageRowProps['view'], key: string) => `line-${view}-${key}`

/** One row. It renders again only when the row itself has changed, because most rows do not change when a message comes. */
export const MessageRow = memo(function MessageRow(props: MessageRowProps) {
  const { row, workspace, view, isReachedByTab } = props
  switch (row.kind) {
    case 'day':
      return (
        <div class="day-line" id={lineIdOf(view, row.below)}>
          {dayOf(row.at)}
        </div>
      )
    case 'unread':
      return (
        <div class="unread-line" id={lineIdOf(view, row.below)}>
          {row.at && <b>{dayOf(row.at)} </b>}
          <span>{t('New messages')}</span>
        </div>
      )
    case 'message':
      return (
        <MessageArticle
          // Reads the newest version of the message, because `rows` changes only when messages are added or removed.
          message={workspace.message(row.message.channelId, row.key) ?? row.message}
          workspace={workspace}
          isHead={row.isHead}
          lineId={lineIdOf(view, row.key)}
          isReachedByTab={isReachedByTab}
          view={view}
          isEditing={props.isEditing}
          isResumed={props.isResumed}
          onEdit={props.onEdit}
          onQuote={props.onQuote}
          onMarkUnread={props.onMarkUnread}
        />
      )
    case 'pending':
      return (
        <PendingArticle entry={row.entry} workspace={workspace} isHead={row.isHead} isReachedByTab={isReachedByTab} />
      )
  }
})
