import type { WireEvent } from '@parley/contract'
import { untracked } from '@preact/signals'
import { propertiesOf } from '../ui/stored-value.ts'
import { createStoredMap } from './stored-map.ts'

/** A text that the person has typed to replace the text of a message, and has not saved. */
export interface TypedEdit {
  channelId: string
  /** The id of the thread, if the message is a reply. */
  threadId: string | null
  text: string
}

/** The edits that are not saved, by the id of the message. They are stored like drafts. */
export function createTypedEdits(userId: string) {
  const edits = createStoredMap('edited', userId, isTypedEdit)
  return {
    ...edits,
    apply({ type, payload }: WireEvent) {
      if (type === 'DELETE_MESSAGE' || type === 'DELETE_DM_MESSAGE' || type === 'DELETE_THREAD_REPLY')
        edits.set(payload.id, undefined)
    },
    /** The text that was typed instead of a message. The component that reads it does not render again when it changes. */
    textOf: (messageId: string) => untracked(edits.all).get(messageId)?.text,
    /** The ids of the messages whose editors open again with their channel. At first these are the edits from before a reload or another sign-in. */
    reopening: new Set(edits.all().keys()),
  }
}

function isTypedEdit(value: unknown): value is TypedEdit {
  const { channelId, threadId, text } = propertiesOf(value)
  return (
    typeof channelId === 'string' && (threadId === null || typeof threadId === 'string') && typeof text === 'string'
  )
}
