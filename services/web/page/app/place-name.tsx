import { isConversationId } from '@parley/client'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ignoreFailure } from '../ui/retries.ts'
import { nameOfPlace } from './places.ts'
import type { Workspace } from './workspace.ts'

/** The name of a channel, which the person may not have joined, or of the other person of a conversation. */
export function PlaceName({ workspace, id }: { workspace: Workspace; id: string }) {
  const place = workspace.place(id)
  const fetched = useSignal('')
  const isUnknown = place === undefined && !isConversationId(id)
  useEffect(() => {
    if (!isUnknown) return
    workspace.client.request('GET /channels/:channelId', { params: { channelId: id } }).then(({ channel }) => {
      fetched.value = channel.name
    }, ignoreFailure)
  }, [id, isUnknown])
  const name = place ? nameOfPlace(place) : fetched.value
  return <bdi>{name !== '' && !isConversationId(id) ? `#${name}` : name}</bdi>
}
