import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { ignoreFailure } from '../ui/retries.ts'

/** Loads a thread: its newest replies, or those around the reply that the address names. */
export function useOpenThread(workspace: Workspace, channelId: string, parentId: string, replyId: string | undefined) {
  const isMissing = useSignal(false)
  /** The reply that the address names, if it does not exist. Then the newest replies are shown. */
  const missingReplyId = useSignal<string | undefined>(undefined)
  const isReady = workspace.isReady.value
  const parent = workspace.message(channelId, parentId)

  useEffect(() => {
    if (!isReady) return
    const controller = new AbortController()
    void open(controller.signal)
    return () => controller.abort()
    // Runs again when the parent is not loaded any more, because it was deleted or because everything is being fetched again.
  }, [isReady, parentId, replyId, parent === undefined])

  async function open(signal: AbortSignal) {
    if (replyId !== undefined) {
      await workspace.openAround(channelId, { id: replyId }, parentId).catch(ignoreFailure)
      if (signal.aborted || workspace.message(channelId, replyId)) return
      missingReplyId.value = replyId
    }
    await workspace.openThread(channelId, parentId).catch(ignoreFailure)
    if (!signal.aborted) isMissing.value = workspace.message(channelId, parentId) === undefined
  }

  useEffect(() => () => workspace.leaveThread(channelId, parentId), [channelId, parentId])

  return {
    parent,
    /** Whether the parent was deleted, or the person may not read it. */
    isGone: parent === undefined && isMissing.value,
    /** The id of the reply that the address names, unless it does not exist. */
    targetId: missingReplyId.value === replyId ? undefined : replyId,
  }
}
