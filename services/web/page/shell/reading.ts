import { useEffect } from 'preact/hooks'
import { isLookedAt } from '../app/attention.ts'
import { ignoreFailure } from '../app/problems.ts'
import type { Workspace } from '../app/workspace.ts'

const readAfterMs = 500

interface Reading {
  id: string
  unreadCount: number
  /** Of the newest message that is there. */
  newestSeq: number
  isAtEnd: boolean
}

/** Tells the server that the newest message was read, when somebody has looked at it for a moment, or leaves the page meanwhile. */
export function useReading(workspace: Workspace, { id, unreadCount, newestSeq, isAtEnd }: Reading) {
  const isRead = unreadCount > 0 && newestSeq > 0 && isAtEnd && isLookedAt.value
  useEffect(() => {
    if (!isRead) return
    const tell = (keepalive: boolean) => {
      stop()
      markRead(workspace, id, newestSeq, keepalive).catch(ignoreFailure)
    }
    const leave = () => tell(true)
    const timer = setTimeout(() => tell(false), readAfterMs)
    addEventListener('pagehide', leave)
    const stop = () => {
      clearTimeout(timer)
      removeEventListener('pagehide', leave)
    }
    return stop
  }, [isRead, id, newestSeq])
}

function markRead({ client }: Workspace, id: string, seq: number, keepalive: boolean): Promise<unknown> {
  const body = { seq }
  return id.startsWith('dm:')
    ? client.request('PUT /conversations/:conversationId/read', { params: { conversationId: id }, body, keepalive })
    : client.request('PUT /channels/:channelId/read', { params: { channelId: id }, body, keepalive })
}
