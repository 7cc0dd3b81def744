import { useEffect, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'

const readAfterMs = 500

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
    const sendReadSeq = (keepalive: boolean) => {
      if (seenSeq.current === sentSeq) return
      sentSeq = seenSeq.current
      workspace.readSender.send(id, sentSeq, keepalive)
    }
    const onPageHide = () => sendReadSeq(true)
    const timer = setInterval(sendReadSeq, readAfterMs, false)
    addEventListener('pagehide', onPageHide)
    return () => {
      clearInterval(timer)
      removeEventListener('pagehide', onPageHide)
      sendReadSeq(false)
    }
  }, [isRead])
  return seenSeq.current
}
