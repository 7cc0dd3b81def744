import { untracked } from '@preact/signals'
import type { Workspace } from '../app/workspace.ts'
import { propertiesOf } from '../ui/stored-value.ts'

/** A text that the person has typed to replace the text of a message, and has not saved. It is stored like a draft. */
export interface TypedEdit {
  channelId: string
  /** The id of the thread, if the message is a reply. */
  threadId: string | null
  text: string
}

export function isTypedEdit(value: unknown): value is TypedEdit {
  const { channelId, threadId, text } = propertiesOf(value)
  return (
    typeof channelId === 'string' && (threadId === null || typeof threadId === 'string') && typeof text === 'string'
  )
}

/** The texts that were typed instead of the messages of a channel or thread. */
export const typedTexts = ({ edits }: Workspace, isWanted: (edit: TypedEdit) => boolean): readonly string[] =>
  [...edits.all().values()].filter(isWanted).map(({ text }) => text)

/** The channels and conversations that have edits that are not saved. */
export const typedChannelIds = ({ edits }: Workspace): readonly string[] =>
  [...edits.all().values()].map(({ channelId }) => channelId)

/** The text that was typed instead of this message. The component that reads it does not render again when it changes. */
export const typedText = ({ edits }: Workspace, messageId: string): string | undefined =>
  untracked(() => edits.all().get(messageId)?.text)
