import type { WireEvent } from '@parley/contract'
import { untracked } from '@preact/signals'
import { t } from '../texts/texts.ts'
import { showProblem } from '../ui/problems.ts'
import { propertiesOf } from '../ui/stored-value.ts'
import type { Deletions } from './deletions.ts'
import { createStoredMap } from './stored-map.ts'

/** A text that the person has typed to replace the text of a message, and has not saved. */
export interface TypedEdit {
  channelId: string
  /** The id of the thread, if the message is a reply. */
  threadId: string | null
  text: string
}

/** The edits that are not saved, by the id of the message. They are stored like drafts. */
export function createTypedEdits(userId: string, { hidden }: Pick<Deletions, 'hidden'>) {
  const edits = createStoredMap('edited', userId, isTypedEdit)
  const textOf = (messageId: string) => untracked(edits.all).get(messageId)?.text
  return {
    ...edits,
    apply({ type, payload }: WireEvent) {
      if (type !== 'DELETE_MESSAGE' && type !== 'DELETE_DM_MESSAGE' && type !== 'DELETE_THREAD_REPLY') return
      const text = textOf(payload.id)
      // Somebody else has deleted the message, or the person in another tab. The text can still be copied.
      if (text && !hidden.peek().has(payload.id))
        showProblem(t('The message that you were editing was deleted. You had written: {text}', { text }))
      edits.set(payload.id, undefined)
    },
    /** The text that was typed instead of a message. The component that reads it does not render again when it changes. */
    textOf,
    /**
     * The ids of the messages whose editing was interrupted by a reload, another sign-in or the loss of the channel. When such a message is
     * shown, `useEditing` opens its editor by itself and removes the id.
     */
    interrupted: new Set(edits.all().keys()),
  }
}

function isTypedEdit(value: unknown): value is TypedEdit {
  const { channelId, threadId, text } = propertiesOf(value)
  return (
    typeof channelId === 'string' && (threadId === null || typeof threadId === 'string') && typeof text === 'string'
  )
}
