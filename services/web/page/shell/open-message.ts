import { RequestFailed } from '@parley/client'
import type { Message } from '@parley/contract'
import { messageAddress, navigate } from '../app/address.ts'
import type { Workspace } from '../app/workspace.ts'
import { pause } from '../ui/pause.ts'
import { isTemporary } from '../ui/retries.ts'

/** The pause before the next try, after the client's own retries have failed. */
const retryMs = 5_000

/** Loads the messages around one message. A reply is shown in its thread, beside the channel. @throws RequestFailed when the server refuses it. */
export async function openMessage(workspace: Workspace, id: string, messageId: string, leaving: AbortSignal) {
  const message = workspace.message(id, messageId) ?? (await fetchMessage(workspace, messageId, leaving))
  if (message.channelId !== id || message.threadId !== null) {
    navigate(messageAddress(message.channelId, messageId, message.threadId), { replace: true })
    return
  }
  await workspace.openAround(id, { id: messageId })
}

/** Fetches a message, and retries until the server responds or refuses. `leaving` aborts it. */
async function fetchMessage({ client }: Workspace, messageId: string, leaving: AbortSignal): Promise<Message> {
  for (;;) {
    try {
      const input = { params: { messageId }, signal: leaving }
      return (await client.request('GET /messages/:messageId', input)).message
    } catch (error) {
      if (leaving.aborted || !(error instanceof RequestFailed && isTemporary(error))) throw error
      await pause(retryMs)
    }
  }
}
