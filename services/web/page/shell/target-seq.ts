import { useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'

/**
 * The `seq` of the message that the address names, once the message is loaded. It stays when the message is deleted, so that the messages
 * around it are still shown.
 */
export function useTargetSeq(
  workspace: Workspace,
  channelId: string,
  messageId: string | undefined,
): number | undefined {
  const known = useRef<{ id: string; seq: number } | undefined>(undefined)
  const message = messageId === undefined ? undefined : workspace.message(channelId, messageId)
  if (message) known.current = { id: message.id, seq: message.seq }
  return known.current?.id === messageId ? known.current?.seq : undefined
}
