import { useEffect, useRef } from 'preact/hooks'
import { hasAttention } from '../app/attention.ts'
import type { Workspace } from '../app/workspace.ts'
import { ignoreFailure, isPassing } from '../ui/problems.ts'

const readAfterMs = 500
/** So long it waits before it tells again what could not be told. */
const tellAgainMs = 5_000

interface Reading {
  id: string
  unreadCount: number
  /** Of the newest message that is there. */
  newestSeq: number
  isAtEnd: boolean
}

/**
 * Tells the server how far somebody has read: every half second while new messages are looked at, and at once when the person
 * goes to another channel or leaves the page.
 */
export function useReading(workspace: Workspace, { id, unreadCount, newestSeq, isAtEnd }: Reading) {
  const isRead = unreadCount > 0 && newestSeq > 0 && isAtEnd && hasAttention.value
  const newest = useRef(newestSeq)
  newest.current = newestSeq
  const leave = useRef<(() => void) | undefined>(undefined)
  // Before the effect that clears it, because effects end in the order in which they stand here.
  useEffect(() => () => leave.current?.(), [id])
  useEffect(() => {
    if (!isRead) return
    let toldSeq = 0
    let pausesUntil = 0
    const tell = (keepalive: boolean) => {
      if (newest.current === toldSeq) return
      const seq = newest.current
      toldSeq = seq
      markRead(workspace, id, seq, keepalive).catch((error) => {
        ignoreFailure(error)
        if (toldSeq !== seq || !isPassing(error)) return
        toldSeq = 0
        pausesUntil = performance.now() + tellAgainMs
      })
    }
    const onPageHide = () => tell(true)
    const timer = setInterval(() => {
      if (performance.now() >= pausesUntil) tell(false)
    }, readAfterMs)
    addEventListener('pagehide', onPageHide)
    leave.current = () => tell(false)
    return () => {
      clearInterval(timer)
      removeEventListener('pagehide', onPageHide)
      leave.current = undefined
    }
  }, [isRead, id])
}

function markRead({ client }: Workspace, id: string, seq: number, keepalive: boolean): Promise<unknown> {
  const body = { seq }
  return id.startsWith('dm:')
    ? client.request('PUT /conversations/:conversationId/read', { params: { conversationId: id }, body, keepalive })
    : client.request('PUT /channels/:channelId/read', { params: { channelId: id }, body, keepalive })
}
