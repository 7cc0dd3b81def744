import type { Message, WireEvent } from '@parley/contract'
import { type ListSource, LiveList, useLiveList } from '../app/live-list.tsx'
import type { Workspace } from '../app/workspace.ts'
import { changesShown, FoundMessage } from '../messages/found-message.tsx'
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
  concerns: (event, shown) => mentionsPerson(event, workspace) || changesShown(event, shown, workspace),
})

/** Whether an event is about a message that mentions the person, or about a group or channel of theirs. */
function mentionsPerson({ type, payload }: WireEvent, { mentionsMe, myId }: Workspace): boolean {
  switch (type) {
    case 'NEW_MESSAGE':
    case 'NEW_DM_MESSAGE':
    case 'UPDATE_MESSAGE':
    case 'UPDATE_DM_MESSAGE':
    case 'UPDATE_THREAD_REPLY':
      return mentionsMe(payload.mentions)
    case 'NEW_THREAD_REPLY':
      return mentionsMe(payload.reply.mentions)
    case 'NEW_GROUP':
      return payload.joined.includes(myId)
    case 'UPDATE_GROUP':
    case 'UPDATE_CHANNEL':
      return [...(payload.joined ?? []), ...(payload.left ?? [])].includes(myId)
    default:
      return false
  }
}
