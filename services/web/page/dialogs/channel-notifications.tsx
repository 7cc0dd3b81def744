import type { KnownChannel } from '@parley/client'
import { setPreferences } from '../app/place-preferences.ts'
import type { Workspace } from '../app/workspace.ts'
import { mayNotify, notificationPermission } from '../notifications/notify.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Select } from '../ui/form.tsx'

interface ChannelNotificationsProps {
  workspace: Workspace
  channel: KnownChannel
  onClose: () => void
}

export const ChannelNotifications = (props: ChannelNotificationsProps) => (
  <Dialog name={t('Notifications of {name}', { name: props.channel.name })} onClose={props.onClose}>
    <NotificationChoice {...props} />
  </Dialog>
)

/** A muted channel keeps whether every message was chosen before, so that "Unmute" restores it. */
const changes = {
  all: { isMuted: false, notifiesOfAll: true },
  mentions: { isMuted: false, notifiesOfAll: false },
  muted: { isMuted: true },
}
type Choice = keyof typeof changes

/** The choice of which messages of a channel the person is notified, on all their devices. */
export function NotificationChoice({ workspace, channel, onClose }: ChannelNotificationsProps) {
  const { id, isMuted, notifiesOfAll } = channel
  const choice: Choice = isMuted ? 'muted' : notifiesOfAll ? 'all' : 'mentions'
  const options: [Choice, string][] = [
    ['all', t('Every message')],
    ['mentions', t('Mentions')],
    ['muted', t('Only my name (muted)')],
  ]
  const hints = {
    all: t('Of replies, only those that mention you or are in threads that you follow'),
    mentions: t('And replies in threads that you follow'),
    muted: t('Other messages of a muted channel are not shown as unread'),
  }
  return (
    <>
      <Select
        label={t('Notify me of')}
        value={choice}
        options={options}
        hint={hints[choice]}
        onSelect={(next) => setPreferences(workspace, id, changes[next])}
      />
      {!mayNotify() && (
        <p class="hint">
          {t('Desktop notifications are off in this browser')}{' '}
          {notificationPermission() !== 'unsupported' && (
            <a href="/preferences" onClick={onClose}>
              {t('Preferences')}
            </a>
          )}
        </p>
      )}
    </>
  )
}
