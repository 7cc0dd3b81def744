import { channelAddress, navigate, navigateLater } from '../app/address.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { attempt } from '../ui/problems.ts'
import { findPeople, knownPeople } from './choices.ts'
import { PickOne } from './pick-one.tsx'

export const NewDirectMessage = ({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) => (
  <PickOne
    workspace={workspace}
    name={t('New direct message')}
    label={t('Person')}
    choices={knownPeople(workspace)}
    find={(text, signal) => findPeople(workspace, text, signal)}
    onClose={onClose}
    onChoose={({ id }) => {
      onClose()
      void openConversation(workspace, id)
    }}
  />
)

/**
 * Opens the conversation with a person, and creates it if necessary. A person who has opened something else meanwhile stays there, and finds
 * the conversation in the sidebar.
 */
export async function openConversation(workspace: Workspace, targetUserId: string) {
  const known = workspace.conversations().find(({ otherUser }) => otherUser.id === targetUserId)
  if (known) return navigate(channelAddress(known.id))
  const open = navigateLater()
  const opened = await attempt(workspace.client.request('POST /conversations', { body: { targetUserId } }))
  if (opened) open(channelAddress(opened.conversation.id))
}
