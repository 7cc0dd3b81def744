import type { Database } from '@parley/database'
import type { PositionedEvent } from '@parley/events'
import DataLoader from 'dataloader'
import { type FoundChannel, listChannels, listJoined } from './known-channels.queries.ts'
import type { Follower, KnownChannel } from './stream.ts'

export type Routed = Pick<PositionedEvent, 'routing'>

export type KnownChannels = ReturnType<typeof createKnownChannels>

/**
 * The channels that this node knows: who may read them, and which of its streams follow them. Events keep this cache
 * current. An event with a newer membership version either has the people who joined and left, or waits until the
 * channel was read again.
 *
 * A channel and a follower who has joined it are linked: each has the other in a list. Either of them may become known
 * first. `keep` links a channel to the followers that are known, and `readChannelsOf` links a follower to the channels.
 */
export function createKnownChannels({ db, maxChannels = 20_000 }: { db: Database; maxChannels?: number }) {
  const channels = new Map<string, KnownChannel>()
  const followers = new Map<string, Follower>()
  const joinedIds = new DataLoader((ids: readonly string[]) => listJoined(db, ids), { cache: false, maxBatchSize: 500 })
  let reads = 0
  let loading = 0

  function isKnown({ routing }: Routed) {
    if (routing.to !== 'channel') return true
    const known = channels.get(routing.channel)
    return known !== undefined && known.version >= routing.version
  }

  /** Reads the channels of these events that are unknown or known in an older version. @throws when the database is unavailable. */
  async function load(events: readonly Routed[]): Promise<void> {
    const wanted = new Map<string, number>()
    for (const event of events) {
      const { routing } = event
      if (routing.to === 'channel' && !isKnown(event)) {
        wanted.set(routing.channel, Math.max(routing.version, wanted.get(routing.channel) ?? 0))
      }
    }
    if (wanted.size === 0) return

    loading++
    try {
      for (;;) {
        const withPublic = followers.size > 0
        const found = await listChannels(db, [...wanted.keys()], withPublic)
        // The first follower was added meanwhile, so the members of public channels are needed now.
        if (followers.size > 0 && !withPublic) continue
        const byId = new Map(found.map((channel) => [channel.id, channel]))
        for (const [id, version] of wanted) keep(id, byId.get(id), version)
        return
      }
    } finally {
      loading--
    }
  }

  /** Stores what was read of a channel, unless an event has made the known version newer meanwhile. */
  function keep(id: string, found: FoundChannel | undefined, version: number) {
    const known = channels.get(id)
    if (known && found && known.version > found.membersVersion) return
    const channel = known ?? { id, kind: 'direct', version, members: new Set<string>(), followers: [], readAt: 0 }
    // `trim` forgets the first channels of the map. This channel was just read, so it moves to the end.
    channels.delete(id)
    channels.set(id, channel)
    // A channel without a row keeps its audience, which still has to get the event of the deletion.
    channel.version = found?.membersVersion ?? version
    if (!found) return

    const members = found.members?.split(',') ?? []
    channel.kind = found.kind
    channel.members = new Set(found.kind === 'public' ? [] : members)
    channel.readAt = ++reads
    unlinkAll(channel)
    for (const userId of members) link(followers.get(userId), channel)
  }

  /** Applies the people who joined and left from an event, if its version directly follows the known version. */
  function applyMembership({ routing }: Routed) {
    if (routing.to !== 'channel' || !routing.membership) return
    const { joined, left } = routing.membership
    for (const userId of [...joined, ...left]) {
      const follower = followers.get(userId)
      if (follower) follower.hasChanged = true
    }
    const channel = channels.get(routing.channel)
    if (channel?.kind !== 'public' || channel.version + 1 !== routing.version) return
    channel.version = routing.version
    for (const userId of left) unlink(followers.get(userId), channel)
    for (const userId of joined) link(followers.get(userId), channel)
  }

  /**
   * Registers a person who opens a stream of `scope=joined`. Resolves once their channels are known. The caller must
   * then call `endOpening`. @throws when the database is unavailable.
   */
  async function follow(userId: string): Promise<Follower> {
    let follower = followers.get(userId)
    if (!follower) {
      const ready = Promise.resolve()
      follower = { userId, streams: new Set(), channels: [], opening: 0, ready, hasChanged: false }
      followers.set(userId, follower)
      follower.ready = readChannelsOf(follower)
    }
    follower.opening++
    try {
      await follower.ready
      return follower
    } catch (err) {
      // The next request tries to read again.
      drop(follower)
      throw err
    }
  }

  /**
   * Reads which channels the follower has joined, and links the known ones. The follower is registered already, so
   * `keep` links them to channels that are read after this began. When an event changes their membership meanwhile, the
   * channels are read again.
   */
  async function readChannelsOf(follower: Follower) {
    for (;;) {
      const begun = ++reads
      follower.hasChanged = false
      const ids = await joinedIds.load(follower.userId)
      if (follower.hasChanged) continue
      for (const id of ids) {
        const channel = channels.get(id)
        if (channel && channel.readAt < begun) link(follower, channel)
      }
      return
    }
  }

  /** Call it when the request that called `follow` has opened its stream or has failed. */
  function endOpening(follower: Follower) {
    follower.opening--
    dropIfUnused(follower)
  }

  /** Forgets a follower without streams. Call it when a stream of theirs has ended. */
  function dropIfUnused(follower: Follower) {
    if (follower.streams.size === 0 && follower.opening === 0) drop(follower)
  }

  /** Forgets a follower, and unlinks their channels. */
  function drop(follower: Follower) {
    if (followers.get(follower.userId) === follower) followers.delete(follower.userId)
    for (const channel of follower.channels) remove(channel.followers, follower)
    follower.channels.length = 0
  }

  /**
   * Forgets the channels that were read longest ago. It does nothing while events wait for their delivery, because they
   * need the channels.
   */
  function trim() {
    if (loading > 0) return
    for (const channel of channels.values()) {
      if (channels.size <= maxChannels) return
      channels.delete(channel.id)
      unlinkAll(channel)
    }
  }

  /** Forgets all channels, because a new epoch has begun and the database may be an older one. */
  function forget() {
    for (const channel of channels.values()) unlinkAll(channel)
    channels.clear()
  }

  return {
    get: (id: string) => channels.get(id),
    isKnown,
    load,
    applyMembership,
    follow,
    endOpening,
    dropIfUnused,
    follower: (userId: string) => followers.get(userId),
    trim,
    forget,
  }
}

/** Whether the follower has joined the channel. */
export const hasJoined = ({ channels }: Follower, channel: KnownChannel): boolean => channels.includes(channel)

function link(follower: Follower | undefined, channel: KnownChannel) {
  if (!follower || hasJoined(follower, channel)) return
  follower.channels.push(channel)
  channel.followers.push(follower)
}

function unlink(follower: Follower | undefined, channel: KnownChannel) {
  if (!follower || !hasJoined(follower, channel)) return
  remove(follower.channels, channel)
  remove(channel.followers, follower)
}

function unlinkAll(channel: KnownChannel) {
  for (const follower of channel.followers) remove(follower.channels, channel)
  channel.followers.length = 0
}

/** Removes an item from an array. The other items may change their order. */
function remove<Item>(items: Item[], item: Item) {
  const last = items.pop()!
  if (last !== item) items[items.indexOf(item)] = last
}
