import { useEffect, useRef } from 'preact/hooks'
import { useReportSeen } from '../app/report-seen.ts'
import type { Workspace } from '../app/workspace.ts'

interface Reading {
  id: string
  unreadCount: number
  /** The `seq` of the newest loaded message. */
  newestSeq: number
  /** Whether the person sees that message. */
  isSeen: boolean
}

/**
 * Tells the workspace which channel the person sees, and sends the read state to the server. Returns the `seq` of the newest message that
 * they have seen, which the server may not know yet.
 */
export function useReading(workspace: Workspace, { id, unreadCount, newestSeq, isSeen }: Reading): number {
  const seenSeq = useRef(0)
  if (isSeen) seenSeq.current = newestSeq
  useEffect(() => {
    if (!isSeen) return
    workspace.seenId.value = id
    return () => {
      if (workspace.seenId.value === id) workspace.seenId.value = undefined
    }
  }, [isSeen])
  useReportSeen(isSeen && unreadCount > 0, seenSeq, (seq, options) => workspace.readSender.send(id, seq, options))
  return seenSeq.current
}
