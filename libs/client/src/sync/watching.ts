import type { Client } from '../client/client.ts'
import { isConversationId } from '../requests/routes.ts'
import type { Listings } from './listings.ts'
import type { Lists } from './lists.ts'
import type { OpenChannels } from './open-channels.ts'

interface WatchingParts {
  client: Client
  scope: 'all' | 'joined'
  lists: Lists
  listings: Listings
  channels: OpenChannels
  /** Makes the stream watch these channels. */
  watch: (channelIds: readonly string[]) => Promise<void>
}

export type Watching = ReturnType<typeof createWatching>

/** Watches the public channels that the person looks at without having joined them. Without it the stream does not have their events. */
export function createWatching({ client, scope, lists, listings, channels, watch }: WatchingParts) {
  const watched = new Set<string>()
  let followed = 0

  const isFollowed = (channelId: string) =>
    scope === 'all' || isConversationId(channelId) || lists.channel(channelId)?.isMember === true

  return {
    /** Makes the stream follow the channel. @throws RequestFailed when the person may not read it. */
    async follow(channelId: string): Promise<void> {
      if (isFollowed(channelId)) return
      await listings.channels
      if (isFollowed(channelId)) return
      const isNew = !watched.has(channelId)
      watched.add(channelId)
      await watch([...watched])
      // The channel was closed meanwhile.
      if (!watched.has(channelId)) return
      if (isNew) followed++
      await listings.fetchAndSet(
        () => client.request('GET /channels/:channelId', { params: { channelId } }),
        ({ channel }) => watched.has(channelId) && lists.setChannel(channel),
      )
    },
    /** Increases when the stream follows more channels. Data that was fetched before may be outdated. */
    followed: () => followed,
    /** Reloads the open channels that the person has left. The reload makes the stream watch them. */
    followOpen() {
      for (const id of channels.inView()) if (!isFollowed(id) && !watched.has(id)) channels.reload(id)
    },
    /** Call it when nobody looks at the channel any more. */
    end(channelId: string) {
      if (!watched.delete(channelId)) return
      void watch([...watched])
      if (isFollowed(channelId)) return
      channels.drop(channelId)
      lists.removeChannel(channelId)
    },
  }
}
