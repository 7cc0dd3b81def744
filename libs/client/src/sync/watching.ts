import type { Client } from '../client/client.ts'
import { isConversationId } from '../requests/routes.ts'
import type { ListLoader } from './list-loader.ts'
import type { Lists } from './lists.ts'

interface WatchingParts {
  client: Client
  scope: 'all' | 'joined'
  lists: Lists
  listLoader: ListLoader
  /** Makes the stream watch these channels. */
  watch: (channelIds: readonly string[]) => Promise<void>
}

export type Watching = ReturnType<typeof createWatching>

/** Watches the public channels that the person looks at without having joined them. Without it the stream does not have their events. */
export function createWatching({ client, scope, lists, listLoader, watch }: WatchingParts) {
  const watched = new Set<string>()
  let followed = 0

  const isJoined = (channelId: string) =>
    scope === 'all' || isConversationId(channelId) || lists.channel(channelId)?.isMember === true

  return {
    /** Whether the stream has the events of the channel, or will have them. */
    isFollowed: (channelId: string) => isJoined(channelId) || watched.has(channelId),
    /** Makes the stream follow the channel. @throws RequestFailed when the person may not read it. */
    async follow(channelId: string): Promise<void> {
      if (isJoined(channelId)) return
      await listLoader.channels
      if (isJoined(channelId)) return
      const isNew = !watched.has(channelId)
      watched.add(channelId)
      await watch([...watched])
      // The channel was closed meanwhile.
      if (!watched.has(channelId)) return
      if (isNew) followed++
      await listLoader.fetchAndSet(
        () => client.request('GET /channels/:channelId', { params: { channelId } }),
        ({ channel }) => watched.has(channelId) && lists.setChannel(channel),
      )
    },
    /** Increases when the stream follows more channels. Data that was fetched before may be outdated. */
    followed: () => followed,
    /** Call it when the server has refused the channel. The stream has its events again as soon as the person may read it. */
    refused(channelId: string) {
      if (!isJoined(channelId)) lists.removeChannel(channelId)
    },
    /** Ends the watching of a channel. Returns whether the stream does not have its events any more. */
    end(channelId: string): boolean {
      if (!watched.delete(channelId)) return false
      void watch([...watched])
      if (isJoined(channelId)) return false
      lists.removeChannel(channelId)
      return true
    },
  }
}
