import type { ResponseOf } from '@parley/client'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { channelAddress } from '../app/address.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Icon } from '../ui/icons.tsx'
import { attempt } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'
import { ResultCount } from '../ui/result-count.tsx'
import { ShowMore } from '../ui/show-more.tsx'
import { useCloseForGuests } from './close-for-guests.ts'
import { LeavePrivate } from './leave-private.tsx'

type Listed = ResponseOf<'GET /channels'>['channels'][number]

const pageSize = 50
const searchAfterMs = 150

/** The channels that the person may read, page by page, with a search by any part of the name or topic. */
export function BrowseChannels({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  useCloseForGuests(workspace, onClose)
  const { query, found, hasMore, load, change } = useFoundChannels(workspace)
  const leaving = useSignal<Listed | null>(null)
  return (
    <Dialog name={t('Browse channels')} class="wide picker" onClose={onClose}>
      <input
        class="input"
        type="search"
        aria-label={t('Find a channel')}
        placeholder={t('Find a channel')}
        autoFocus
        onInput={(event) => (query.value = event.currentTarget.value)}
      />
      <ResultCount count={query.value === '' ? undefined : found.value?.length} />
      <ul class="rows" aria-busy={found.value === undefined}>
        {found.value?.map((channel) => (
          <ChannelRow
            key={channel.id}
            channel={channel}
            onOpen={onClose}
            onToggle={async () => {
              if (channel.isPrivate) leaving.value = channel
              else await attempt(change(channel, channel.isMember ? 'leave' : 'join'))
            }}
          />
        ))}
      </ul>
      {leaving.value && (
        <LeavePrivate
          name={leaving.value.name}
          onConfirm={() => change(leaving.value!, 'leave')}
          onClose={() => (leaving.value = null)}
        />
      )}
      {hasMore.value && <ShowMore onMore={() => load(found.value!.at(-1)!.id)} />}
    </Dialog>
  )
}

/** The channels that match the text of `query`. */
function useFoundChannels({ client }: Workspace) {
  const query = useSignal('')
  /** Undefined until the first response. */
  const found = useSignal<readonly Listed[] | undefined>(undefined)
  const hasMore = useSignal(false)
  /** The number of channels that were joined or left. */
  const changes = useRef(0)

  async function load(after?: string): Promise<void> {
    const q = query.value.trim()
    const { current: known } = changes
    const wanted = { members: 'false', limit: pageSize, ...(q !== '' && { q }), ...(after && { after }) } as const
    const page = await attempt(client.request('GET /channels', { query: wanted }))
    // The text was changed meanwhile, so these channels belong to the previous one.
    if (!page || q !== query.value.trim()) return
    // The server may have read these channels before the change.
    if (known !== changes.current) return load(after)
    found.value = after ? [...(found.value ?? []), ...page.channels] : page.channels
    hasMore.value = page.hasMore
  }
  useEffect(() => {
    const timer = setTimeout(() => void load(), found.value ? searchAfterMs : 0)
    return () => clearTimeout(timer)
  }, [query.value])

  async function change({ id }: Listed, what: 'join' | 'leave') {
    const { channel } = await client.request(`POST /channels/:channelId/${what}`, { params: { channelId: id } })
    changes.current++
    found.value = found.value!.map((one) => (one.id === id ? { ...one, ...channel } : one))
  }

  return { query, found, hasMore, load, change }
}

interface ChannelRowProps {
  channel: Listed
  /** Called when the person opens the channel. */
  onOpen: () => void
  /** Called when the person presses the button to join or to leave. */
  onToggle: () => Promise<void>
}

const ChannelRow = ({ channel, onOpen, onToggle }: ChannelRowProps) => {
  const { id, name, topic, isPrivate, isMember, memberCount } = channel
  return (
    <li class="browse-row">
      <a class="nav-link" href={channelAddress(id)} onClick={onOpen}>
        <Icon name={isPrivate ? 'lock' : 'hash'} />
        <span class="name" dir="auto">
          <strong>{name}</strong> {topic && <bdi class="quiet">{topic}</bdi>}
        </span>
      </a>
      <span class="quiet">{t('{count, plural, one {# member} other {# members}}', { count: memberCount })}</span>
      {(isMember || !isPrivate) && (
        <RequestButton
          class={isMember ? 'link-button' : 'button'}
          name={isMember ? t('Leave {name}', { name }) : t('Join {name}', { name })}
          onRequest={onToggle}
        >
          {isMember ? t('Leave') : t('Join')}
        </RequestButton>
      )}
    </li>
  )
}
