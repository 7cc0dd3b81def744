import { storedKeys } from './drafts.ts'
import type { Workspace } from './workspace.ts'

/** Where the person has typed a text that is not sent. */
export interface UnsentText {
  channelId: string
  /** Undefined when the text is not in a thread. */
  threadId: string | undefined
}

/** The drafts of the person. */
export function draftsOf({ myId }: Workspace): UnsentText[] {
  const keys = [...storedKeys.value].map((key) => key.split(' '))
  return keys.flatMap(([, userId, channelId, threadId]) =>
    userId === myId && channelId ? [{ channelId, threadId }] : [],
  )
}

/** The drafts of the person, the edits that they have not saved, and the messages that were refused. */
export function unsentTexts(workspace: Workspace): UnsentText[] {
  const edits = [...workspace.edits.all().values()]
  const refused = [...workspace.outboxIds()].flatMap((id) =>
    workspace.outbox(id).filter(({ state }) => state === 'failed'),
  )
  return [
    ...draftsOf(workspace),
    ...edits.map(({ channelId, threadId }) => ({ channelId, threadId: threadId ?? undefined })),
    ...refused.map(({ channelId, parentId }) => ({ channelId, threadId: parentId })),
  ]
}
