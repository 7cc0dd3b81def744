import { isConversationId } from '@parley/client'
import { useEffect, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { ignoreFailure, isTemporary } from '../ui/problems.ts'

const readAfterMs = 500
/** The pause before the next try after a failure. */
const retryMs = 5_000

interface Reading {
  id: string
  unreadCount: number
  /** The `seq` of the newest loaded message. */
  newestSeq: number
  /** Whether the person sees that message. */
  isSeen: boolean
}

/**
 * Tells the workspace which channel the person sees. Sends the read state to the server: every half second while new messages come, and
 * immediately when the person looks at something else, scrolls up or marks a message as unread. Returns the `seq` of the newest message that
 * they have seen, which the server may not know yet.
 */
export function useReading(workspace: Workspace, { id, unreadCount, newestSeq, isSeen }: Reading): number {
  const isRead = isSeen && unreadCount > 0
  const seenSeq = useRef(0)
  if (isSeen) seenSeq.current = newestSeq
  useEffect(() => {
    if (!isSeen) return
    workspace.seenId.value = id
    return () => {
      if (workspace.seenId.value === id) workspace.seenId.value = undefined
    }
  }, [isSeen])
  useEffect(() => {
    if (!isRead) return
    let sentSeq = 0
    let pausesUntil = 0
    const sendReadSeq = (keepalive: boolean) => {
      if (seenSeq.current === sentSeq) return
      const seq = seenSeq.current
      sentSeq = seq
      markRead(workspace, id, seq, keepalive).catch((error) => {
        ignoreFailure(error)
        if (sentSeq !== seq || !isTemporary(error)) return
        sentSeq = 0
        pausesUntil = performance.now() + retryMs
      })
    }
    const onPageHide = () => sendReadSeq(true)
    const timer = setInterval(() => {
      if (performance.now() >= pausesUntil) sendReadSeq(false)
    }, readAfterMs)
    addEventListener('pagehide', onPageHide)
    return () => {
      clearInterval(timer)
      removeEventListener('pagehide', onPageHide)
      sendReadSeq(false)
    }
  }, [isRead])
  return seenSeq.current
}

function markRead({ client }: Workspace, id: string, seq: number, keepalive: boolean): Promise<unknown> {
  const body = { seq }
  return isConversationId(id)
    ? client.request('PUT /conversations/:conversationId/read', { params: { conversationId: id }, body, keepalive })
    : client.request('PUT /channels/:channelId/read', { params: { channelId: id }, body, keepalive })
}
