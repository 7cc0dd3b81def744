import type { Message } from '@parley/contract'
import { type ListSource, LiveList, useLiveList } from '../app/live-list.tsx'
import { saveMessage } from '../app/message-actions.ts'
import type { Workspace } from '../app/workspace.ts'
import { changesShown, FoundMessage, partsOf } from '../messages/found-message.tsx'
import { t } from '../texts/texts.ts'
import { announce } from '../ui/announced.ts'
import { Empty } from '../ui/empty.tsx'

/** The page of the messages that the person has saved, newest message first. */
export function SavedMessages({ workspace }: { workspace: Workspace }) {
  const list = useLiveList(workspace, sourceOf(workspace))
  const remove = async (message: Message) => {
    if (await saveMessage(workspace, message, false)) announce(t('Message removed from saved'))
    list.refresh()
  }
  // A message disappears as soon as the person removes it.
  const shown = list.items?.filter((message) => workspace.isSaved(message.id) !== false)
  return (
    <LiveList
      name={t('Saved messages')}
      list={{ ...list, items: shown }}
      empty={
        <Empty
          icon="saved"
          title={t('No saved messages yet')}
          hint={t('Save a message from its menu, and you find it here. Nobody else sees it.')}
        />
      }
    >
      {shown?.map((message) => {
        const ids = `saved-${message.id}`
        return (
          <FoundMessage key={message.id} workspace={workspace} message={message} ids={ids} onChanged={list.refresh}>
            <button
              type="button"
              class="link-button"
              aria-describedby={partsOf(ids)}
              onClick={() => void remove(message)}
            >
              {t('Remove from saved')}
            </button>
          </FoundMessage>
        )
      })}
    </LiveList>
  )
}

const sourceOf = (workspace: Workspace): ListSource<Message> => ({
  async fetchPage(query) {
    const { messages, hasMore } = await workspace.client.request('GET /saved', { query })
    return { items: messages, hasMore }
  },
  idOf: ({ id }) => id,
  concerns: (event, shown) => event.type === 'SAVED_UPDATE' || changesShown(event, shown, workspace),
})
