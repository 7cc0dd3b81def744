import { type Signal, signal, useSignal, useSignalEffect } from '@preact/signals'
import { render } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { address, channelAddress } from '../app/address.ts'
import { LoadedDialog } from '../app/loaded-dialog.tsx'
import { isUnread, markAsRead } from '../app/mark-as-read.ts'
import { openAnotherAfter } from '../app/open-another.ts'
import { createPart } from '../app/part.ts'
import { setPreferences } from '../app/place-preferences.ts'
import { detailsOf, nameOfPlace, type Place } from '../app/places.ts'
import type { Workspace } from '../app/workspace.ts'
import { LeavePrivate } from '../dialogs/leave-private.tsx'
import { t } from '../texts/texts.ts'
import { copyLink } from '../ui/copy.ts'
import { focusMain } from '../ui/focus.ts'
import { onLongPress } from '../ui/long-press.ts'
import { Menu, type MenuItem } from '../ui/menu.tsx'
import { attempt } from '../ui/problems.ts'

const settings = createPart(() => import('../dialogs/channel-settings.tsx').then((part) => part.ChannelSettings))
const notifications = createPart(() =>
  import('../dialogs/channel-notifications.tsx').then((part) => part.ChannelNotifications),
)

/** A row of the sidebar whose menu was opened. */
interface Opened {
  id: string
  link: HTMLElement
}

/**
 * The menu of a channel or conversation in the sidebar. A right click, a long press and the key of context menus open it. Returns a function
 * that ends it.
 */
export function openPlaceMenus(workspace: Workspace): () => void {
  const opened = signal<Opened | null>(null)
  const root = document.createElement('div')
  document.body.append(root)
  render(<OpenedMenu workspace={workspace} opened={opened} />, root)
  /** Opens the menu of the row in which something has happened. Returns whether there is one. */
  const open = (target: EventTarget | null): boolean => {
    const link = (target as Element).closest<HTMLElement>('.sidebar [role=listitem] > a')
    if (!link) return false
    const id = decodeURIComponent(link.getAttribute('href')!.slice(channelAddress('').length))
    if (!workspace.place(id)) return false
    opened.value = { id, link }
    return true
  }
  const onContextMenu = (event: MouseEvent) => {
    if (open(event.target)) event.preventDefault()
  }
  document.addEventListener('contextmenu', onContextMenu)
  const stopLongPresses = onLongPress(open)
  return () => {
    document.removeEventListener('contextmenu', onContextMenu)
    stopLongPresses()
    render(null, root)
    root.remove()
  }
}

function OpenedMenu({ workspace, opened }: { workspace: Workspace; opened: Signal<Opened | null> }) {
  const dialog = useSignal<'settings' | 'notifications' | 'leave' | null>(null)
  const close = () => {
    dialog.value = null
  }
  // The card of a member may lead to another page.
  useSignalEffect(() => {
    void address.value
    close()
  })
  const { value: row } = opened
  const place = row && workspace.place(row.id)
  if (!place) return null
  const { id } = row
  async function leave() {
    const send = () => workspace.client.request('POST /channels/:channelId/leave', { params: { channelId: id } })
    await openAnotherAfter(workspace, id, { send, onEnded: close })
    if (document.activeElement === document.body) focusMain()
  }
  const items = itemsOf(workspace, place, {
    onSettings: () => (dialog.value = 'settings'),
    onNotifications: () => (dialog.value = 'notifications'),
    onLeave: (isPrivate) => {
      if (isPrivate) dialog.value = 'leave'
      else void attempt(leave())
    },
  })
  return (
    <>
      <RowMenu key={row} row={row} name={t('Actions for {name}', { name: nameOfPlace(place) })} items={items} />
      {place.kind === 'channel' && dialog.value === 'settings' && (
        <LoadedDialog
          name={t('Channel settings')}
          part={settings}
          onClose={close}
          render={(Settings) => <Settings workspace={workspace} channel={place.channel} onClose={close} />}
        />
      )}
      {place.kind === 'channel' && dialog.value === 'notifications' && (
        <LoadedDialog
          name={t('Notifications of {name}', { name: nameOfPlace(place) })}
          part={notifications}
          onClose={close}
          render={(Notifications) => <Notifications workspace={workspace} channel={place.channel} onClose={close} />}
        />
      )}
      {dialog.value === 'leave' && <LeavePrivate name={nameOfPlace(place)} onConfirm={leave} onClose={close} />}
    </>
  )
}

interface RowMenuProps {
  row: Opened
  name: string
  items: readonly MenuItem[]
}

/** A menu whose button cannot be seen. It is at the row, which has the focus instead of the button. */
function RowMenu({ row: { link }, name, items }: RowMenuProps) {
  const root = useRef<HTMLDivElement>(null)
  const { left, top, width, height } = link.getBoundingClientRect()
  useLayoutEffect(() => root.current!.querySelector('button')!.click(), [])
  return (
    <div
      ref={root}
      class="row-menu"
      style={{ left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` }}
      onFocusIn={({ target }) => {
        if (!(target as Element).closest('[role=menu]')) link.focus()
      }}
    >
      <Menu name={name} items={items} />
    </div>
  )
}

interface Dialogs {
  onSettings: () => void
  onNotifications: () => void
  onLeave: (isPrivate: boolean) => void
}

function itemsOf(workspace: Workspace, place: Place, { onSettings, onNotifications, onLeave }: Dialogs): MenuItem[] {
  const { id, isFavourite, isMuted } = detailsOf(place)
  const channel = place.kind === 'channel' ? place.channel : undefined
  const isJoined = channel?.isMember ?? true
  return [
    ...(isUnread(workspace, place) ? [{ name: t('Mark as read'), onChoose: () => markAsRead(workspace, place) }] : []),
    ...(isJoined
      ? [
          {
            key: 'favourite',
            name: isFavourite ? t('Remove from favourites') : t('Add to favourites'),
            onChoose: () => {
              setPreferences(workspace, id, { isFavourite: !isFavourite })
              focusRowLater(id)
            },
          },
          {
            key: 'mute',
            name: isMuted ? t('Unmute') : t('Mute'),
            onChoose: () => setPreferences(workspace, id, { isMuted: !isMuted }),
          },
        ]
      : []),
    ...(channel?.isMember ? [{ name: t('Notifications'), onChoose: onNotifications }] : []),
    { name: t('Copy link'), onChoose: () => void copyLink(channelAddress(id)) },
    ...(channel ? [{ name: t('Channel settings'), onChoose: onSettings }] : []),
    ...(channel?.isMember
      ? [
          {
            name: t('Leave channel'),
            onChoose: () => onLeave(channel.isPrivate),
            isDangerous: true,
            hasSeparator: true,
          },
        ]
      : []),
  ]
}

/** The row moves to another section, where it is another element. */
const focusRowLater = (id: string) =>
  requestAnimationFrame(() => {
    const row = document.querySelector<HTMLElement>(`.sidebar [role=listitem] > a[href="${channelAddress(id)}"]`)
    if (document.activeElement === document.body) row?.focus()
  })
