import { setPreferences } from '../app/place-preferences.ts'
import { detailsOf, type Place } from '../app/places.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Drawing, Icon, IconButton } from '../ui/icons.tsx'
import { attempt } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'

const star = 'M12 4.2l2.4 4.9 5.4.8-3.9 3.8.9 5.3-4.8-2.5-4.8 2.5.9-5.3-3.9-3.8 5.4-.8z'
const bell = 'M6.5 15.5v-5a5.5 5.5 0 0 1 11 0v5l1.5 2H5zM10 20h4'

interface PlaceTogglesProps {
  workspace: Workspace
  place: Place
}

/** The buttons of a channel or conversation that make it a favourite and mute it, or the button to join a public channel. */
export function PlaceToggles({ workspace, place }: PlaceTogglesProps) {
  const { id, isFavourite, isMuted } = detailsOf(place)
  if (place.kind === 'channel' && !place.channel.isMember) {
    return place.channel.isPrivate ? null : <JoinButton workspace={workspace} channelId={id} />
  }
  return (
    <>
      <IconButton
        face={<Drawing outline={star} />}
        name={t('Favourite')}
        pressed={isFavourite}
        onClick={() => setPreferences(workspace, id, { isFavourite: !isFavourite })}
      />
      <IconButton
        face={isMuted ? <Icon name="muted" /> : <Drawing outline={bell} />}
        name={isMuted ? t('Unmute') : t('Mute')}
        onClick={() => setPreferences(workspace, id, { isMuted: !isMuted })}
      />
    </>
  )
}

function JoinButton({ workspace: { client }, channelId }: { workspace: Workspace; channelId: string }) {
  return (
    <RequestButton
      class="button primary"
      onRequest={() => attempt(client.request('POST /channels/:channelId/join', { params: { channelId } }))}
    >
      {t('Join channel')}
    </RequestButton>
  )
}
