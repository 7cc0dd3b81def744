import { effect, untracked } from '@preact/signals'
import { channelAddress, navigate, openPlaceId } from '../app/address.ts'
import { detailsOf } from '../app/places.ts'
import { unreadCountOf } from '../app/unread-counts.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { channelChoice, conversationChoice, findChannels, findPeople } from './choices.ts'
import { openConversation } from './new-direct-message.tsx'
import { type Choice, PickOne } from './pick-one.tsx'

/** The dialog of Ctrl+K, which opens any channel or person by a few letters of the name. */
export const QuickSwitcher = ({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) => (
  <PickOne
    workspace={workspace}
    name={t('Switch to')}
    label={t('Channel or person')}
    choices={likelyFirst(workspace)}
    find={async (text, signal) =>
      (await Promise.all([findChannels(workspace, text, signal), findPeople(workspace, text, signal)])).flat()
    }
    onClose={onClose}
    onChoose={async ({ id, isPerson }, typed) => {
      if (!isPerson) navigate(channelAddress(id))
      else if (!(await openConversation(workspace, id, typed))) return
      onClose()
    }}
  />
)

/** The channels and conversations that were opened in this tab, the last one first. */
let visited: readonly string[] = []
effect(() => {
  const { value: openId } = openPlaceId
  if (openId !== undefined) visited = [openId, ...visited.filter((id) => id !== openId)]
})

/**
 * All channels and conversations: those with unread mentions or direct messages, those that were opened before, the latest first, those
 * with other unread messages, the favourites, and the rest. The open one is the last, because nobody wants to switch to it.
 */
function likelyFirst(workspace: Workspace): Choice[] {
  const { value: openId } = openPlaceId
  const orderOf = (id: string): number => {
    if (id === openId) return visited.length + 3
    const place = workspace.place(id)
    const unreadCount = place ? unreadCountOf(workspace, place) : 0
    const mentionCount = place ? detailsOf(place).mentionCount : 0
    if (mentionCount > 0 || (place?.kind === 'direct' && unreadCount > 0)) return -1
    const at = visited.indexOf(id)
    return at >= 0 ? at : visited.length + (unreadCount > 0 ? 0 : workspace.isFavourite(id) ? 1 : 2)
  }
  const places = [
    ...workspace.channels.value.map((channel) => [channel.id, channelChoice(channel)] as const),
    ...workspace.conversations().map((conversation) => [conversation.id, conversationChoice(conversation)] as const),
  ]
  return (
    places
      // Untracked, so that the order stays while the dialog is open.
      .map(([id, choice]) => ({ choice, order: untracked(() => orderOf(id)) }))
      .sort((one, other) => one.order - other.order)
      .map(({ choice }) => choice)
  )
}
