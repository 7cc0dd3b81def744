import { isConversationId } from '@parley/client'
import type { ChannelPreferences } from '@parley/contract'
import { effect, signal } from '@preact/signals'
import { type Place, readStateOfPlace, type Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Drawing, Icon, IconButton } from '../ui/icons.tsx'
import { attempt } from '../ui/problems.ts'

const star = 'M12 4.2l2.4 4.9 5.4.8-3.9 3.8.9 5.3-4.8-2.5-4.8 2.5.9-5.3-3.9-3.8 5.4-.8z'
const bell = 'M6.5 15.5v-5a5.5 5.5 0 0 1 11 0v5l1.5 2H5zM10 20h4'

type Change = Partial<ChannelPreferences>

/** The buttons of a channel or conversation that make it a favourite and mute it. */
export function PlaceToggles({ workspace, place }: { workspace: Workspace; place: Place }) {
  const { id, isFavourite, isMuted } = readStateOfPlace(place)
  return (
    <>
      <IconButton
        face={<Drawing outline={star} />}
        name={t('Favourite')}
        pressed={isFavourite}
        onClick={() => void setPreferences(workspace, id, { isFavourite: !isFavourite })}
      />
      <IconButton
        face={isMuted ? <Icon name="muted" /> : <Drawing outline={bell} />}
        name={isMuted ? t('Unmute') : t('Mute')}
        onClick={() => void setPreferences(workspace, id, { isMuted: !isMuted })}
      />
    </>
  )
}

/** One request at a time, so that the server stores the last change last. */
let sending: Promise<unknown> = Promise.resolve()

/**
 * Shows a change at once, and sends it. It stays in `unsaved` until its event has come. When the server refuses it, the error is shown and
 * the change is taken back.
 */
async function setPreferences(workspace: Workspace, id: string, body: Change) {
  const change = { ...workspace.unsaved.value.get(id), ...body }
  show(workspace, id, change)
  const events = listenTo(workspace, id)
  const request = sending.then(() => (workspace.ended.aborted ? undefined : attempt(put(workspace, id, body))))
  sending = Promise.allSettled([request])
  const saved = await request
  if (saved) await events.until(saved)
  events.end()
  // The person may have made another change meanwhile.
  if (workspace.unsaved.value.get(id) === change) show(workspace, id, undefined)
}

const put = ({ client }: Workspace, id: string, body: Change) =>
  isConversationId(id)
    ? client.request('PUT /conversations/:conversationId/preferences', { params: { conversationId: id }, body })
    : client.request('PUT /channels/:channelId/preferences', { params: { channelId: id }, body })

/** Listens to the events of a channel or conversation, because an event may come before the response to its request. */
function listenTo(workspace: Workspace, id: string) {
  const heard = signal<readonly string[]>([])
  const { value: connection } = workspace.connection
  const end = workspace.listen(({ type, payload }) => {
    if (type === 'UPDATE_CHANNEL_PREFERENCES' && payload.channelId === id) {
      heard.value = [...heard.value, textOf(payload)]
    }
  })
  return {
    end,
    /** Resolves when the event has come, or is not needed, or when the stream was lost or opened again, because then it may not come. */
    async until(saved: ChannelPreferences) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const stop = effect(() => {
        const isKnown = textOf(workspace.known(id) ?? saved) === textOf(saved)
        if (isKnown || heard.value.includes(textOf(saved)) || workspace.connection.value !== connection) resolve()
      })
      await promise
      stop()
    },
  }
}

const textOf = ({ isMuted, isFavourite }: ChannelPreferences) => `${isMuted} ${isFavourite}`

function show({ unsaved }: Workspace, id: string, change: Change | undefined) {
  const next = new Map(unsaved.value)
  if (change) next.set(id, change)
  else next.delete(id)
  unsaved.value = next
}
