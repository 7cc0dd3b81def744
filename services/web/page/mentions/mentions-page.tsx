import type { Message, WireEvent } from '@parley/contract'
import { type ListSource, LiveList, useLiveList } from '../app/live-list.tsx'
import type { Workspace } from '../app/workspace.ts'
import { FoundMessage } from '../messages/found-message.tsx'
import { t } from '../texts/texts.ts'
import { Empty } from '../ui/empty.tsx'

/** The page of the messages that mention the person, newest first. */
export function Mentions({ workspace }: { workspace: Workspace }) {
  const list = useLiveList(workspace, sourceOf(workspace))
  return (
    <LiveList
      name={t('Mentions')}
      list={list}
      empty={
        <Empty
          icon="mention"
          title={t('No mentions yet')}
          hint={t('You find messages here that mention you, a group of yours, or everybody in a channel.')}
        />
      }
    >
      {list.items?.map((message) => (
        <FoundMessage key={message.id} workspace={workspace} message={message} onChanged={list.refresh} />
      ))}
    </LiveList>
  )
}

const sourceOf = (workspace: Workspace): ListSource<Message> => ({
  async fetchPage(query) {
    const { messages, hasMore } = await workspace.client.request('GET /mentions', { query })
    return { items: messages, hasMore }
  },
  idOf: ({ id }) => id,
  concerns: (event, shown) => concerns(event, shown, workspace),
})

/** Whether an event changes one of the shown messages, or is about a message that mentions the person, or is about what they may read. */
function concerns({ type, payload }: WireEvent, shown: readonly Message[], { mentionsMe, myId }: Workspace): boolean {
  const isShown = (messageId: string) => shown.some(({ id, threadId }) => id === messageId || threadId === messageId)
  switch (type) {
    case 'NEW_MESSAGE':
    case 'NEW_DM_MESSAGE':
      return mentionsMe(payload.mentions)
    case 'NEW_THREAD_REPLY':
      return mentionsMe(payload.reply.mentions)
    case 'UPDATE_MESSAGE':
    case 'UPDATE_DM_MESSAGE':
    case 'UPDATE_THREAD_REPLY':
      return isShown(payload.id) || mentionsMe(payload.mentions)
    case 'DELETE_MESSAGE':
    case 'DELETE_DM_MESSAGE':
    case 'DELETE_THREAD_REPLY':
      return isShown(payload.id)
    case 'NEW_REACTION':
    case 'DELETE_REACTION':
      return isShown(payload.messageId)
    case 'NEW_CHANNEL':
      return payload.lastSeq > 0
    case 'DELETE_CHANNEL':
      return shown.some(({ channelId }) => channelId === payload.id)
    // Guests get it when they join or leave a group.
    case 'UPDATE_USER':
      return payload.id === myId
    case 'NEW_GROUP':
      return payload.joined.includes(myId)
    case 'UPDATE_GROUP':
    case 'UPDATE_CHANNEL':
      return [...(payload.joined ?? []), ...(payload.left ?? [])].includes(myId)
    default:
      return false
  }
}
