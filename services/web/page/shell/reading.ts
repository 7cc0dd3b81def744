import { isConversationId } from '@parley/client'
import { useEffect, useRef } from 'preact/hooks'
import { hasAttention } from '../app/attention.ts'
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
  isAtEnd: boolean
}

/**
 * Sends the read state to the server: every half second while the person looks at new messages, and immediately when they open another
 * channel or leave the page.
 */
export function useReading(workspace: Workspace, { id, unreadCount, newestSeq, isAtEnd }: Reading) {
  const isRead = unreadCount > 0 && newestSeq > 0 && isAtEnd && hasAttention.value
  const newest = useRef(newestSeq)
  newest.current = newestSeq
  const leave = useRef<(() => void) | undefined>(undefined)
  // This effect must come before the one that clears `leave`, because effects end in the order of their code.
  useEffect(() => () => leave.current?.(), [id])
  useEffect(() => {
    if (!isRead) return
    let sentSeq = 0
    let pausesUntil = 0
    const sendReadSeq = (keepalive: boolean) => {
      if (newest.current === sentSeq) return
      const seq = newest.current
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
    leave.current = () => sendReadSeq(false)
    return () => {
      clearInterval(timer)
      removeEventListener('pagehide', onPageHide)
      leave.current = undefined
    }
  }, [isRead, id])
}

function markRead({ client }: Workspace, id: string, seq: number, keepalive: boolean): Promise<unknown> {
  const body = { seq }
  return isConversationId(id)
    ? client.request('PUT /conversations/:conversationId/read', { params: { conversationId: id }, body, keepalive })
    : client.request('PUT /channels/:channelId/read', { params: { channelId: id }, body, keepalive })
}
