import type { FollowedThread, WireEvent } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { threadAddress } from '../app/address.ts'
import { type ListSource, LiveList, useLiveList } from '../app/live-list.tsx'
import { PlaceName } from '../app/place-name.tsx'
import type { Workspace } from '../app/workspace.ts'
import { changesShown } from '../messages/found-message.tsx'
import { MessageArticle } from '../messages/message.tsx'
import { momentOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { Empty } from '../ui/empty.tsx'
import { attempt } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'
import { useUniqueId } from '../ui/unique-id.ts'

/** The page of the threads that the person follows. Those with unread replies come first. */
export function Threads({ workspace }: { workspace: Workspace }) {
  const isUnreadOnly = useSignal(false)
  const list = useLiveList(workspace, sourceOf(workspace, isUnreadOnly.value), isUnreadOnly.value)
  const { items: threads } = list
  const newest = threads?.[0]
  const sorted = threads && [...threads.filter(isUnread), ...threads.filter((thread) => !isUnread(thread))]
  return (
    <>
      <div class="page-bar">
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would be a border around two buttons */}
        <div class="choice" role="group" aria-label={t('Show')}>
          {[false, true].map((isForUnread) => (
            <button
              key={isForUnread}
              type="button"
              class="button"
              aria-pressed={isUnreadOnly.value === isForUnread}
              onClick={() => (isUnreadOnly.value = isForUnread)}
            >
              {isForUnread ? t('Unread') : t('All')}
            </button>
          ))}
        </div>
        <RequestButton
          disabled={!newest || (workspace.unreadThreads.value === 0 && !threads.some(isUnread))}
          onRequest={async () => {
            // The person does not know later replies.
            const body = { until: newest!.lastReply.createdAt }
            await attempt(workspace.client.request('PUT /threads/read', { body }))
            list.refresh()
          }}
        >
          {t('Mark all as read')}
        </RequestButton>
      </div>
      <LiveList
        name={t('Threads')}
        list={list}
        empty={
          isUnreadOnly.value ? (
            <Empty icon="thread" title={t('Nothing new')} hint={t('You have read all replies in your threads.')} />
          ) : (
            <Empty
              icon="thread"
              title={t('No threads yet')}
              hint={t('You find threads here that you have started or taken part in, and those that mention you.')}
            />
          )
        }
      >
        {sorted?.map((thread) => (
          <Thread key={thread.message.id} workspace={workspace} thread={thread} onChanged={list.refresh} />
        ))}
      </LiveList>
    </>
  )
}

const isUnread = ({ unreadCount }: FollowedThread) => unreadCount > 0

interface ThreadProps {
  workspace: Workspace
  thread: FollowedThread
  onChanged: () => void
}

/** One thread: its channel, its message and its newest reply. */
function Thread({ workspace, thread, onChanged }: ThreadProps) {
  const { message, lastReply, unreadCount } = thread
  const { replyCount = 1, lastReplyAt = lastReply.createdAt } = message.threadMeta ?? {}
  const id = useUniqueId()
  const href = threadAddress(message.channelId, message.id)
  return (
    <article class="found" data-unread={unreadCount > 0 || undefined} aria-labelledby={id}>
      <p class="where" id={id}>
        <a href={href}>
          <PlaceName workspace={workspace} id={message.channelId} />
        </a>{' '}
        {unreadCount > 0 && (
          <span class="count mention">{t('{count, plural, one {# new} other {# new}}', { count: unreadCount })}</span>
        )}
      </p>
      <MessageArticle message={message} workspace={workspace} isHead view="other" onChanged={onChanged} />
      <div class="last-reply">
        <MessageArticle message={lastReply} workspace={workspace} isHead view="other" onChanged={onChanged} />
      </div>
      <a class="replies-link" href={href}>
        {t('{count, plural, one {# reply} other {# replies}}', { count: replyCount })}
        <span class="quiet"> {t('Last reply {when}', { when: momentOf(lastReplyAt) })}</span>
      </a>
    </article>
  )
}

const sourceOf = (workspace: Workspace, isUnreadOnly: boolean): ListSource<FollowedThread> => ({
  async fetchPage(query) {
    const unread = isUnreadOnly && { unread: 'true' as const }
    const { threads, hasMore } = await workspace.client.request('GET /threads', { query: { ...query, ...unread } })
    return { items: threads, hasMore }
  },
  idOf: ({ message }) => message.id,
  concerns: (event, threads) => {
    const shown = threads.flatMap(({ message, lastReply }) => [message, lastReply])
    return changesThreads(event, threads) || changesShown(event, shown, workspace)
  },
})

/** Whether an event adds a reply to one of the shown threads or removes one, or changes what the person has read or follows. */
function changesThreads({ type, payload }: WireEvent, threads: readonly FollowedThread[]): boolean {
  const isShown = (messageId: string) => threads.some(({ message }) => message.id === messageId)
  switch (type) {
    case 'THREAD_READ_UPDATE':
      return true
    case 'NEW_THREAD_REPLY':
      return isShown(payload.parentMessageId)
    case 'DELETE_THREAD_REPLY':
      return isShown(payload.threadId)
    default:
      return false
  }
}
