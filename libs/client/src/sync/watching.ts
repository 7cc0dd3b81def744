import type { Client } from '../client/client.ts'
import type { Asking } from './ask.ts'
import type { Listings } from './listings.ts'
import type { Lists } from './lists.ts'
import type { OpenChannels } from './open-channels.ts'

export interface WatchingParts {
  client: Client
  scope: 'all' | 'joined'
  lists: Lists
  listings: Listings
  channels: OpenChannels
  asking: Asking
  /** Has the stream follow these channels too. */
  watch: (channelIds: readonly string[]) => Promise<void>
}

/** Public channels that somebody looks at without having joined them: they come only with a stream that watches them. */
export function createWatching({ client, scope, lists, listings, channels, asking, watch }: WatchingParts) {
  const watched = new Set<string>()
  let followed = 0

  const isFollowed = (channelId: string) =>
    scope === 'all' || channelId.startsWith('dm:') || lists.channel(channelId)?.isMember === true

  return {
    /** Sees to it that the stream follows the channel. @throws RequestFailed when the person may not read it. */
    async follow(channelId: string): Promise<void> {
      if (isFollowed(channelId)) return
      await listings.channels
      if (isFollowed(channelId)) return
      const isNew = !watched.has(channelId)
      watched.add(channelId)
      await watch([...watched])
      // Somebody has left it meanwhile.
      if (!watched.has(channelId)) return
      if (isNew) followed++
      await asking.ask(
        () => client.request('GET /channels/:channelId', { params: { channelId } }),
        () => 0,
        ({ channel }, since) => {
          lists.setChannel(channel)
          listings.applyAgain(since)
        },
      )
    },
    /** Grows when the stream follows more: what was fetched before that may be out of date. */
    followed: () => followed,
    /** Reloads open channels whose membership has ended. The reload makes the stream watch them. */
    followLookedAt() {
      for (const id of channels.lookedAt()) if (!isFollowed(id) && !watched.has(id)) channels.reload(id)
    },
    /** Nobody looks at it any more. */
    end(channelId: string) {
      if (!watched.delete(channelId)) return
      void watch([...watched])
      if (isFollowed(channelId)) return
      channels.drop(channelId)
      lists.removeChannel(channelId)
    },
  }
}
