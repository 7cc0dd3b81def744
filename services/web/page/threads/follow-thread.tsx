import type { Message } from '@parley/contract'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { hasAttention } from '../app/attention.ts'
import { useReportSeen } from '../app/report-seen.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { attempt } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'
import { ignoreFailure } from '../ui/retries.ts'
import { type FollowState, followStatesOf } from './follow-states.ts'

interface FollowThreadProps {
  workspace: Workspace
  parentId: string
  /** The loaded replies, oldest first. */
  replies: readonly Message[] | undefined
  /** Whether the newest reply is visible. */
  isSeen: boolean
  /** Called once with the `seq` up to which the person had read, when there are unread replies. */
  onReadSeq: (seq: number) => void
}

/** The button that follows the open thread. While the person sees the newest reply of a followed thread, the replies are marked as read. */
export function FollowThread({ workspace, parentId, replies, isSeen, onReadSeq }: FollowThreadProps) {
  const state = useFollowState(workspace, parentId)
  const newest = replies?.at(-1)
  const newestSeq = newest?.seq ?? 0
  const oldestSeq = replies?.[0]?.seq ?? 0
  // A person has read everything up to their own reply.
  const hasNews = newestSeq > (state.value?.readSeq ?? 0) && newest?.author.id !== workspace.myId
  const isUnread = state.value?.isFollowing === true && hasNews
  useReadReplies(workspace, parentId, { newestSeq, isSeen: isUnread && isSeen && hasAttention.value, state })

  const isOpened = useRef(false)
  useEffect(() => {
    if (isOpened.current || newestSeq === 0 || state.value === undefined) return
    isOpened.current = true
    // The line is shown only among the loaded replies.
    if (isUnread && state.value.readSeq >= oldestSeq - 1) onReadSeq(state.value.readSeq)
  }, [newestSeq > 0, state.value === undefined])

  if (state.value === undefined) return null
  const { isFollowing } = state.value
  async function toggle() {
    const input = { params: { messageId: parentId }, body: { isFollowing: !isFollowing } }
    const changed = await attempt(workspace.client.request('PUT /messages/:messageId/thread/follow', input))
    if (changed) state.value = changed
  }
  return (
    <RequestButton class="button small" onRequest={toggle}>
      {isFollowing ? t('Following') : t('Follow')}
    </RequestButton>
  )
}

/** The state of the thread, which is fetched unless it is known. */
function useFollowState(workspace: Workspace, parentId: string) {
  const states = followStatesOf(workspace)
  const isLive = workspace.connection.value === 'live'
  useEffect(() => {
    if (!isLive) return
    const leaving = new AbortController()
    void states.fetch(parentId, leaving.signal)
    return () => leaving.abort()
  }, [parentId, isLive])
  return useMemo(() => states.of(parentId), [parentId])
}

interface Reading {
  newestSeq: number
  /** Whether the person sees the newest reply, and it is unread. */
  isSeen: boolean
  state: { value: FollowState | undefined }
}

/** Marks the replies as read that the person sees. */
function useReadReplies({ client, connection }: Workspace, parentId: string, { newestSeq, isSeen, state }: Reading) {
  const seenSeq = useRef(0)
  seenSeq.current = newestSeq
  const isLive = connection.value === 'live'
  useReportSeen(isSeen && isLive, seenSeq, (seq, options) => {
    const input = { params: { messageId: parentId }, body: { seq }, ...options }
    client.request('PUT /messages/:messageId/thread/read', input).then((read) => {
      state.value = read
    }, ignoreFailure)
  })
}
