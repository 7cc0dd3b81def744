import { RequestFailed } from '@parley/client'
import type { Role } from '@parley/contract'
import { useEffect, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { openMessage } from './open-message.ts'

/**
 * Opens a channel or conversation: its newest messages, or those around the message of the address. After a refusal, it tries again when the
 * person is added to the channel, or has another role. With `isLost`, the person had access to it before. Whoever leaves a public channel may
 * still read it.
 */
export function useOpenPlace(workspace: Workspace, id: string, messageId: string | undefined, isLost: boolean) {
  const { missingId } = workspace
  const { role } = workspace.me.value
  /** Increases after a refusal, as soon as another attempt may succeed. */
  const attempts = useRef(0)
  /** The role of the person when the last attempt was refused. */
  const refusedRole = useRef<Role | undefined>(undefined)
  if (refusedRole.current !== undefined && (workspace.place(id) || role !== refusedRole.current)) {
    refusedRole.current = undefined
    attempts.current++
  }

  useEffect(() => {
    const leaving = new AbortController()
    missingId.value = undefined
    const opened =
      messageId === undefined ? workspace.openPlace(id) : openMessage(workspace, id, messageId, leaving.signal)
    opened.catch((error) => {
      if (leaving.signal.aborted) return
      if (!(error instanceof RequestFailed)) throw error
      missingId.value = messageId ?? id
      refusedRole.current = workspace.place(id) ? undefined : workspace.me.value.role
    })
    return () => leaving.abort()
  }, [messageId, isLost, attempts.current])
  useEffect(
    () => () => {
      workspace.closePlace(id)
      missingId.value = undefined
    },
    [],
  )
}
