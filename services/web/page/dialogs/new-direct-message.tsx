import { channelAddress, navigate } from '../app/address.ts'
import { attempt } from '../app/problems.ts'
import { peopleByName, type Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { PickOne } from './pick-one.tsx'

export function NewDirectMessage({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const choices = peopleByName(workspace.users.value)
    .filter(({ id }) => id !== workspace.myId)
    .map(({ id, userName, email }) => ({ id, name: userName, hint: email }))
  return (
    <PickOne
      name={t('New direct message')}
      label={t('Person')}
      choices={choices}
      onClose={onClose}
      onChoose={({ id }) => void openConversation(workspace, id).then(onClose)}
    />
  )
}

/** Shows the conversation with somebody. It is created when there is none yet. */
export async function openConversation({ client }: Workspace, targetUserId: string) {
  const opened = await attempt(client.request('POST /conversations', { body: { targetUserId } }))
  if (opened) navigate(channelAddress(opened.conversation.id))
}
