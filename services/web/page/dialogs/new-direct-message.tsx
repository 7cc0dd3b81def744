import { channelAddress, navigateLater } from '../app/address.ts'
import { readDraft, storeDraft } from '../app/drafts.ts'
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
    onChoose={async ({ id }, typed) => {
      if (await openConversation(workspace, id, typed)) onClose()
    }}
  />
)

/**
 * Opens the conversation with a person, and creates it if necessary. What was `typed` meanwhile becomes the draft there. A person who has
 * opened something else meanwhile stays there, and finds the conversation in the sidebar. The dialog stays open during the request, because
 * otherwise the text box of the open channel would have the focus, and would send the text to that channel. Returns whether there is a
 * conversation. If not, the dialog shows the error.
 */
export async function openConversation(
  workspace: Workspace,
  targetUserId: string,
  typed: () => string,
): Promise<boolean> {
  const known = workspace.conversations().find(({ otherUser }) => otherUser.id === targetUserId)
  const open = navigateLater()
  const id =
    known?.id ??
    (await attempt(workspace.client.request('POST /conversations', { body: { targetUserId } })))?.conversation.id
  if (!id) return false
  storeDraft(workspace.myId, id, readDraft(workspace.myId, id) + typed())
  open(channelAddress(id))
  return true
}
