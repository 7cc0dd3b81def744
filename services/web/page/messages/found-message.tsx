import type { Message, WireEvent } from '@parley/contract'
import type { ComponentChildren } from 'preact'
import { channelAddress, threadAddress } from '../app/address.ts'
import { PlaceName } from '../app/place-name.tsx'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { passFocus } from '../ui/focus.ts'
import { MessageArticle } from './message.tsx'

interface FoundMessageProps {
  workspace: Workspace
  message: Message
  onChanged: (message: Message) => void
  /** The prefix of the ids of its parts, if `children` refers to them. */
  ids?: string
  /** After the name of the place. */
  children?: ComponentChildren
}

/** One message of a list from several channels, below the name of its channel or conversation. A reply has a link to its thread. */
export const FoundMessage = ({ workspace, message, onChanged, ids, children }: FoundMessageProps) => (
  <div ref={passFocus} class="found">
    <p class="where">
      <a href={channelAddress(message.channelId)}>
        <PlaceName workspace={workspace} id={message.channelId} />
      </a>
      {message.threadId !== null && (
        <>
          {' · '}
          <a href={threadAddress(message.channelId, message.threadId)}>{t('Thread')}</a>
        </>
      )}
      {children}
    </p>
    <MessageArticle message={message} workspace={workspace} isHead view="other" ids={ids} onChanged={onChanged} />
  </div>
)

/** The ids of what says which message it is, for a button of the message in a list: author, text and files. */
export const partsOf = (ids: string) => `${ids}-author ${ids}-text ${ids}-files`

/** Whether an event changes one of the shown messages, or which messages the person may read. */
export function changesShown({ type, payload }: WireEvent, shown: readonly Message[], { myId }: Workspace): boolean {
  const isShown = (messageId: string) => shown.some(({ id, threadId }) => id === messageId || threadId === messageId)
  switch (type) {
    case 'UPDATE_MESSAGE':
    case 'UPDATE_DM_MESSAGE':
    case 'UPDATE_THREAD_REPLY':
    case 'DELETE_MESSAGE':
    case 'DELETE_DM_MESSAGE':
    case 'DELETE_THREAD_REPLY':
      return isShown(payload.id)
    case 'NEW_REACTION':
    case 'DELETE_REACTION':
      return isShown(payload.messageId)
    case 'NEW_CHANNEL':
      // The list may have had messages of it before.
      return payload.lastSeq > 0
    case 'DELETE_CHANNEL':
      return shown.some(({ channelId }) => channelId === payload.id)
    // Guests get it when they join or leave a group.
    case 'UPDATE_USER':
      return payload.id === myId
    default:
      return false
  }
}
