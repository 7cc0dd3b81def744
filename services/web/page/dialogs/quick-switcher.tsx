import { channelAddress, navigate } from '../app/address.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { findChannels, findPeople, knownChannels, knownPeople } from './choices.ts'
import { openConversation } from './new-direct-message.tsx'
import { PickOne } from './pick-one.tsx'

/** The dialog of Ctrl+K, which opens any channel or person by a few letters of the name. */
export const QuickSwitcher = ({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) => (
  <PickOne
    workspace={workspace}
    name={t('Switch to')}
    label={t('Channel or person')}
    choices={[...knownChannels(workspace), ...knownPeople(workspace)]}
    find={async (text, signal) =>
      (await Promise.all([findChannels(workspace, text, signal), findPeople(workspace, text, signal)])).flat()
    }
    onClose={onClose}
    onChoose={({ id, isPerson }) => {
      onClose()
      if (!isPerson) navigate(channelAddress(id))
      else void openConversation(workspace, id)
    }}
  />
)
