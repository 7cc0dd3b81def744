import { address, channelAddress, threadAddress } from '../app/address.ts'
import { type UnsentText, unsentTexts } from '../app/unsent-texts.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Icon } from '../ui/icons.tsx'

const addressOf = ({ channelId, threadId }: UnsentText) =>
  threadId === undefined ? channelAddress(channelId) : threadAddress(channelId, threadId)

/**
 * Links to what the person has typed in channels that the lists do not have, because they have lost or left them: drafts, messages that were
 * refused, and edits that are not saved. What they see has no such link. Each channel has one link: that of a lost channel leads to all its
 * texts, and in a channel that the person may still read, the next text gets the link when they see this one.
 */
export function UnlistedTexts({ workspace }: { workspace: Workspace }) {
  const { edits } = workspace
  const listed = workspace.placeIds()
  const shown = address.value.view === 'channel' ? address.value : undefined
  const isSeen = ({ channelId, threadId }: UnsentText) =>
    channelId === shown?.id &&
    (threadId === undefined || threadId === shown.threadId) &&
    workspace.place(channelId) !== undefined
  const unseen = unsentTexts(workspace).filter((text) => !listed.includes(text.channelId) && !isSeen(text))
  /** Whether the open page is that of the lost channel, and not the channel itself. */
  const isLostAndOpen = (id: string) => id === shown?.id && workspace.place(id) === undefined
  /** Whoever has left a public channel may still read it. Then the text is in its editor. */
  const resumeEdits = (id: string) => {
    for (const [messageId, { channelId }] of edits.all()) if (channelId === id) edits.interrupted.add(messageId)
  }
  return (
    <>
      {[...Map.groupBy(unseen, ({ channelId }) => channelId)].map(([channelId, texts]) => (
        <a
          key={channelId}
          class="nav-link"
          href={addressOf(texts[0]!)}
          aria-current={isLostAndOpen(channelId) ? 'page' : undefined}
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
