import { channelAddress } from '../app/address.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Icon } from '../ui/icons.tsx'

/**
 * Links to what the person has typed in channels that the lists do not have, because they have lost or left them: messages that were refused,
 * and edits that are not saved. A channel that they see has no such link.
 */
export function UnlistedTexts({ workspace, openId }: { workspace: Workspace; openId: string | undefined }) {
  const { edits } = workspace
  const listed = workspace.placeIds()
  const refused = [...workspace.outboxIds()].filter((id) =>
    workspace.outbox(id).some(({ state }) => state === 'failed'),
  )
  const edited = [...edits.all().values()].map(({ channelId }) => channelId)
  const isShown = (id: string) => id === openId && workspace.place(id) !== undefined
  const ids = [...new Set([...refused, ...edited])].filter((id) => !listed.includes(id) && !isShown(id))
  /** Whoever has left a public channel may still read it. Then the text is in its editor. */
  const openEditors = (id: string) => {
    for (const [messageId, { channelId }] of edits.all()) if (channelId === id) edits.reopening.add(messageId)
  }
  return (
    <>
      {ids.map((id) => (
        <a
          key={id}
          class="nav-link"
          href={channelAddress(id)}
          aria-current={id === openId ? 'page' : undefined}
          title={t('You are not in this channel any more.')}
          onClick={() => openEditors(id)}
        >
          <Icon name="edit" />
          <span class="name">{t('Unsent text')}</span>
        </a>
      ))}
    </>
  )
}
