import { channelAddress, navigate } from '../app/address.ts'
import { peopleByName, type Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { openConversation } from './new-direct-message.tsx'
import { PickOne } from './pick-one.tsx'

/** Ctrl+K: to any channel or person by a few letters. */
export function QuickSwitcher({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const channels = workspace.channels.value.map(({ id, name, topic }) => ({ id, name: `#${name}`, hint: topic ?? '' }))
  const people = peopleByName(workspace.users.value)
    .filter(({ id }) => id !== workspace.myId)
    .map(({ id, userName, email }) => ({ id, name: userName, hint: email }))
  const isChannel = new Set(channels.map(({ id }) => id))
  return (
    <PickOne
      name={t('Switch to')}
      label={t('Channel or person')}
      choices={[...channels, ...people]}
      onClose={onClose}
      onChoose={({ id }) => {
        onClose()
        if (isChannel.has(id)) navigate(channelAddress(id))
        else void openConversation(workspace, id)
      }}
    />
  )
}
