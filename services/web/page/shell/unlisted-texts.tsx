import { channelAddress } from '../app/address.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Icon } from '../ui/icons.tsx'

/**
 * Links to what the person has typed in channels that the lists do not have, because they have lost or left them: messages that were refused,
 * and edits that are not saved.
 */
export function UnlistedTexts({ workspace, openId }: { workspace: Workspace; openId: string | undefined }) {
  const listed = workspace.placeIds()
  const refused = [...workspace.outboxIds()].filter((id) =>
    workspace.outbox(id).some(({ state }) => state === 'failed'),
  )
  const edited = [...workspace.edits.all().values()].map(({ channelId }) => channelId)
  const ids = [...new Set([...refused, ...edited])].filter((id) => !listed.includes(id))
  return (
    <>
      {ids.map((id) => (
        <a
          key={id}
          class="nav-link"
          href={channelAddress(id)}
          aria-current={id === openId ? 'page' : undefined}
          title={t('You are not in this channel any more.')}
        >
          <Icon name="edit" />
          <span class="name">{t('Unsent text')}</span>
        </a>
      ))}
    </>
  )
}
