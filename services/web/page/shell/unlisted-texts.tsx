import { address, channelAddress, threadAddress } from '../app/address.ts'
import { unsentTexts } from '../app/unsent-texts.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Icon } from '../ui/icons.tsx'

/**
 * Links to what the person has typed in channels that the lists do not have, because they have lost or left them: drafts, messages that were
 * refused, and edits that are not saved. What they see has no such link.
 */
export function UnlistedTexts({ workspace }: { workspace: Workspace }) {
  const { edits } = workspace
  const listed = workspace.placeIds()
  const shown = address.value.view === 'channel' ? address.value : undefined
  const links = new Map<string, { channelId: string; isOpen: boolean }>()
  for (const { channelId, threadId } of unsentTexts(workspace)) {
    if (listed.includes(channelId)) continue
    const isChannelOpen = channelId === shown?.id
    const isOpen = isChannelOpen && threadId === shown.threadId
    const isSeen = (isOpen || (isChannelOpen && threadId === undefined)) && workspace.place(channelId) !== undefined
    const href = threadId === undefined ? channelAddress(channelId) : threadAddress(channelId, threadId)
    if (!isSeen) links.set(href, { channelId, isOpen })
  }
  /** Whoever has left a public channel may still read it. Then the text is in its editor. */
  const resumeEdits = (id: string) => {
    for (const [messageId, { channelId }] of edits.all()) if (channelId === id) edits.interrupted.add(messageId)
  }
  return (
    <>
      {[...links].map(([href, { channelId, isOpen }]) => (
        <a
          key={href}
          class="nav-link"
          href={href}
          aria-current={isOpen ? 'page' : undefined}
          title={t('You are not in this channel any more.')}
          onClick={() => resumeEdits(channelId)}
        >
          <Icon name="edit" />
          <span class="name">{t('Unsent text')}</span>
        </a>
      ))}
    </>
  )
}
