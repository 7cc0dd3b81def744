import type { FollowedThread, WireEvent } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { threadAddress } from '../app/address.ts'
import { PlaceName } from '../app/place-name.tsx'
import type { Workspace } from '../app/workspace.ts'
import { MessageArticle } from '../messages/message.tsx'
import { momentOf, t } from '../texts/texts.ts'
import { Empty } from '../ui/empty.tsx'
import { attempt, ignoreFailure, textOf } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'
import { ShowMore } from '../ui/show-more.tsx'

const pageSize = 25
/** The server returns at most so many threads at once. */
const maxFetched = 200
/** The pause in which several events lead to one request. */
const pauseMs = 300

/** The page of the threads that the person follows. Those with unread replies come first. */
export function Threads({ workspace }: { workspace: Workspace }) {
  const isUnreadOnly = useSignal(false)
  const list = useThreads(workspace, isUnreadOnly.value)
  const { threads, failure } = list
  const newest = threads?.[0]
  const isEmpty = threads?.length === 0
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
      {failure !== null && (
        <p class="alert" role="alert">
          {failure}
        </p>
      )}
      <section class="threads" aria-label={t('Threads')} aria-busy={threads === undefined && failure === null}>
        {isEmpty &&
          (isUnreadOnly.value ? (
            <Empty icon="thread" title={t('Nothing new')} hint={t('You have read all replies in your threads.')} />
          ) : (
            <Empty
              icon="thread"
              title={t('No threads yet')}
              hint={t('You find threads here that you have started or taken part in, and those that mention you.')}
            />
          ))}
        {sorted?.map((thread) => (
          <Thread key={thread.message.id} workspace={workspace} thread={thread} onChanged={list.refresh} />
        ))}
      </section>
      {list.hasMore && <ShowMore onMore={list.showMore} />}
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
  const id = useId()
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

/** The first threads of the list. Events that concern it lead to a request for all of them. */
function useThreads(workspace: Workspace, isUnreadOnly: boolean) {
  const page = useSignal<{ threads: readonly FollowedThread[]; hasMore: boolean } | undefined>(undefined)
  const failure = useSignal<string | null>(null)
  const refreshes = useSignal(0)
  const wanted = useRef(pageSize)
  const fetches = useRef(0)
  const isLive = workspace.connection.value === 'live'
  // With another role the person may read other channels, and there are no events about their threads.
  const { role } = workspace.me.value
  const fetchPage = (limit: number, before?: string) =>
    workspace.client.request('GET /threads', {
      query: { limit, ...(isUnreadOnly && { unread: 'true' as const }), ...(before !== undefined && { before }) },
    })

  async function fetchWanted() {
    const number = ++fetches.current
    const threads = new Map<string, FollowedThread>()
    let hasMore = true
    while (hasMore && threads.size < wanted.current) {
      const { size } = threads
      const next = await fetchPage(Math.min(maxFetched, wanted.current - size), [...threads.keys()].at(-1))
      // Otherwise a later fetch has begun, which shows as many threads.
      if (number !== fetches.current) return
      for (const thread of next.threads) threads.set(thread.message.id, thread)
      hasMore = next.hasMore
      // The last thread is the first one now. The event that says so leads to another fetch.
      if (threads.size === size) break
    }
    failure.value = null
    page.value = { threads: [...threads.values()], hasMore }
  }

  useEffect(() => {
    page.value = undefined
    wanted.current = pageSize
  }, [isUnreadOnly, role])
  useEffect(() => {
    let isCurrent = true
    fetchWanted().catch((error) => {
      // The list stays, and is fetched again after the next event or connection.
      if (isCurrent && page.value === undefined) failure.value = textOf(error)
      else ignoreFailure(error)
    })
    return () => {
      isCurrent = false
      fetches.current++
    }
  }, [isUnreadOnly, isLive, refreshes.value, role])

  const refresh = () => {
    refreshes.value++
  }
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const end = workspace.listen((event) => {
      if (!concerns(event, page.value?.threads ?? [])) return
      timer ??= setTimeout(() => {
        timer = undefined
        refresh()
      }, pauseMs)
    })
    return () => {
      end()
      clearTimeout(timer)
    }
  }, [])

  async function showMore() {
    wanted.current = page.value!.threads.length + pageSize
    await attempt(fetchWanted())
  }

  return {
    threads: page.value?.threads,
    hasMore: page.value?.hasMore === true,
    failure: failure.value,
    refresh,
    showMore,
  }
}

/** Whether an event changes one of the shown threads, or the list. */
function concerns({ type, payload }: WireEvent, threads: readonly FollowedThread[]): boolean {
  const isShown = (...ids: string[]) =>
    threads.some(({ message, lastReply }) => ids.includes(message.id) || ids.includes(lastReply.id))
  switch (type) {
    case 'THREAD_READ_UPDATE':
      return true
    case 'NEW_THREAD_REPLY':
      return isShown(payload.parentMessageId)
    case 'UPDATE_THREAD_REPLY':
    case 'UPDATE_MESSAGE':
    case 'DELETE_MESSAGE':
      return isShown(payload.id)
    case 'DELETE_THREAD_REPLY':
      return isShown(payload.threadId)
    case 'NEW_REACTION':
    case 'DELETE_REACTION':
      return isShown(payload.messageId)
    case 'NEW_CHANNEL':
      // The person may have followed threads of it before.
      return payload.lastSeq > 0
    case 'DELETE_CHANNEL':
      return threads.some(({ message }) => message.channelId === payload.id)
    default:
      return false
  }
}
