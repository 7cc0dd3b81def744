import type { Message, WireEvent } from '@parley/contract'
import type { Client } from '../client/client.ts'
import { jittered, pause, usualBackoff } from '../requests/backoff.ts'
import { RequestFailed } from '../requests/request-failed.ts'
import type { Changes } from '../store/changes.ts'
import type { Anchor } from './anchored-timeline.ts'
import { type ChannelMessages, createChannelMessages, type Fetched } from './channel-messages.ts'
import type { EventLog } from './event-log.ts'
import { createMessageRequests, type PagePosition } from './message-requests.ts'
import type { WithCurrentName } from './people.ts'
import type { Watching } from './watching.ts'

interface OpenChannelsParts {
  client: Client
  pageSize: number
  eventLog: EventLog
  changes: Changes
  closing: AbortSignal
  withCurrentName: WithCurrentName
  /** Resolves when the stream is open. Data that was fetched earlier could miss events. */
  connected: Promise<void>
  watching: Watching
}

/** A position in a channel or conversation: in its timeline or in a thread, at the newest messages or at `seq`. */
export interface TimelinePosition {
  parentId?: string
  seq?: number
}

export type OpenChannels = ReturnType<typeof createOpenChannels>

/** The number of channels whose messages are kept although nobody looks at them, because people often return to them. */
const maxKept = 30
const maxStored = 100
/** A channel that nobody looks at is trimmed when it has more messages than this. Half of them stay, which is the stored number. */
const maxUnseen = 2 * maxStored
const maxWaitMs = 2_000

/** Fetches the messages that somebody looks at, and fetches them again after events that do not contain enough. */
export function createOpenChannels({
  client,
  pageSize,
  closing,
  eventLog: { fetchWithEvents },
  watching,
  ...parts
}: OpenChannelsParts) {
  /** The channels whose messages are kept, in the order in which they were opened last. */
  const channels = new Map<string, ChannelMessages>()
  /** The ids of the channels that somebody looks at. */
  const inView = new Set<string>()
  /** The running loads. */
  const loads = new Map<ChannelMessages, Promise<void>>()
  const requests = createMessageRequests(client, pageSize)

  /** Loads what somebody looks at, until `close` is called. */
  function open(channelId: string, want: (channel: ChannelMessages) => void): Promise<void> {
    inView.add(channelId)
    return loadWanted(channelId, want)
  }

  /** Loads what `want` adds to the wanted data of the channel. */
  function loadWanted(channelId: string, want: (channel: ChannelMessages) => void): Promise<void> {
    const channel = channels.get(channelId) ?? createChannelMessages(channelId, parts.changes, parts.withCurrentName)
    channels.delete(channelId)
    channels.set(channelId, channel)
    dropOldest()
    want(channel)
    // A load that is running fetches this too, because it continues until nothing is missing.
    return load(channel)
  }

  /** @throws RequestFailed when the server refuses this anchor. The other anchors of the channel are fetched nevertheless. */
  async function openAt(channelId: string, anchor: Anchor, parentId?: string): Promise<void> {
    const wanted = bySeq(channels.get(channelId), anchor)
    await open(channelId, (channel) => channel.want(wanted, parentId))
    const refusal = requests.takeRefusal(wanted)
    if (refusal) throw refusal
  }

  function dropOldest() {
    const idle = [...channels.keys()].filter((id) => !inView.has(id))
    for (const id of idle.slice(0, Math.max(0, idle.length - maxKept))) drop(id)
  }

  function drop(channelId: string) {
    channels.get(channelId)?.clear()
    channels.delete(channelId)
    parts.changes.markUnsaved('pages', channelId)
  }

  function apply(event: WireEvent) {
    const { payload } = event
    if (event.type === 'DELETE_CHANNEL' || event.type === 'NEW_CHANNEL') {
      // A person who lost access to a channel and gets it again has missed the messages in between.
      const channel = channels.get(event.payload.id)
      if (channel) reload(channel)
    } else if ('channelId' in payload) {
      const channel = channels.get(payload.channelId)
      if (!channel) return
      if (!channel.apply(event)) reload(channel)
      else if (!inView.has(channel.channelId)) channel.trim(maxUnseen)
    }
  }

  /**
   * Fetches all data of the channel again. Events that come meanwhile are applied. A channel that nobody looks at is dropped instead, and
   * is fetched when somebody opens it. One that the server refuses stays open, because the person may read it again later.
   */
  function reload(channel: ChannelMessages) {
    channel.clear()
    if (inView.has(channel.channelId)) load(channel).catch(() => watching.refused(channel.channelId))
    else drop(channel.channelId)
  }

  function load(channel: ChannelMessages): Promise<void> {
    const running = loads.get(channel)
    if (running) return running
    if (closing.aborted || channel.isLoaded()) return Promise.resolve()
    const started = keepFetching(channel)
    loads.set(channel, started)
    return started
  }

  /** Fetches until nothing is missing. It stops when the server refuses a request, and retries after any other failure. */
  async function keepFetching(channel: ChannelMessages) {
    try {
      for (let failures = 0; !closing.aborted && isKept(channel) && !channel.isLoaded(); ) {
        try {
          await fetchMissing(channel)
        } catch (error) {
          if (error instanceof RequestFailed && error.isRefusal) throw error
          await pause(jittered(failures++, usualBackoff), closing)
        }
      }
    } finally {
      // In the same turn of the event loop as the last check, so that messages that are wanted later start a new load.
      loads.delete(channel)
    }
  }

  async function fetchMissing(channel: ChannelMessages) {
    await parts.connected
    // The stream nearly always follows the channel already, so both requests are sent at the same time.
    let following: Promise<void> | undefined
    await fetchWithEvents(
      async () => {
        following ??= watching.follow(channel.channelId).catch((error) => {
          // `fetchWithEvents` tries again when the person was added to the channel meanwhile.
          following = undefined
          throw error
        })
        const [fetched] = await Promise.all([requests.fetchMissing(channel), following])
        return fetched
      },
      () => channel.version + watching.followed(),
      (fetched, since) => merge(channel, fetched, since),
    )
  }

  /** Whether the channel was not dropped. Another object may have replaced it. */
  const isKept = (channel: ChannelMessages) => channels.get(channel.channelId) === channel

  function merge(channel: ChannelMessages, fetched: Fetched, since: readonly WireEvent[]) {
    if (!isKept(channel)) return
    channel.merge(fetched)
    const own = since.filter(({ payload }) => 'channelId' in payload && payload.channelId === channel.channelId)
    if (!own.every((event) => channel.apply(event))) reload(channel)
    for (const event of since) if (event.type === 'UPDATE_USER') channel.rename(event.payload.id)
  }

  /** Fetches the page before or after a run. The page is dropped when the channel was fetched again meanwhile. */
  async function loadBeside(
    channelId: string,
    { parentId, seq }: TimelinePosition,
    side: 'before' | 'after',
  ): Promise<void> {
    const channel = channels.get(channelId)
    const end = channel?.timeline(parentId)?.end(side, seq)
    if (!channel || !end?.hasMore) return
    const { version } = channel
    const position: PagePosition = end.message ? { [side]: end.message.id } : { aroundSeq: end.seq }
    const beside = end.message && { [side]: end.seq }
    await fetchWithEvents(
      async () => (channel.version === version ? requests.fetchPage(channel, parentId, position) : undefined),
      () => channel.version,
      (page, since) => page && merge(channel, { pages: [{ ...page, beside }] }, since),
    )
  }

  return {
    get: (channelId: string) => channels.get(channelId),
    get isSettled() {
      return loads.size === 0
    },
    /** Resolves when everything is loaded and rendered, but after `maxWaitMs` at the latest. */
    untilShown() {
      const { requestIdleCallback: whenIdle = setTimeout } = globalThis as { requestIdleCallback?: WhenIdle }
      const shown = Promise.allSettled(loads.values()).then(() => new Promise((resolve) => whenIdle(resolve)))
      return Promise.race([shown, pause(maxWaitMs, closing)])
    },
    open: openAt,
    openPins: (channelId: string) => open(channelId, (channel) => channel.wantPins()),
    /** Loads and keeps the newest messages of a channel that another tab shows. */
    keep: (channelId: string) => loadWanted(channelId, (channel) => channel.want('newest')).catch(ignoreFailure),
    loadOlder: (channelId: string, position: TimelinePosition = {}) => loadBeside(channelId, position, 'before'),
    loadNewer: (channelId: string, position: TimelinePosition = {}) => loadBeside(channelId, position, 'after'),
    /** Call it when nobody looks at the channel any more. */
    close(channelId: string) {
      inView.delete(channelId)
      dropOldest()
      // The stream does not have the events of the channel any more.
      if (watching.end(channelId)) drop(channelId)
    },
    trim: (channelId: string, most: number) => channels.get(channelId)?.trim(most),
    /** Reloads the open channels that the person has left. The reload makes the stream watch them. */
    reloadUnfollowed() {
      for (const id of [...inView]) if (!watching.isFollowed(id)) reload(channels.get(id)!)
    },
    apply,
    rename(userId: string) {
      for (const channel of channels.values()) channel.rename(userId)
    },
    reloadAll() {
      for (const channel of [...channels.values()]) reload(channel)
    },
    toStore: (channelId: string) => channels.get(channelId)?.toStore(maxStored),
    storedIds: () => channels.keys(),
    restore(pages: Map<string, unknown>) {
      for (const [channelId, page] of pages) {
        if (channels.has(channelId)) continue
        const channel = createChannelMessages(channelId, parts.changes, parts.withCurrentName)
        channel.restore(page as { from: number; messages: Message[] })
        channels.set(channelId, channel)
      }
    },
  }
}

/** The type of `requestIdleCallback`, which only browsers have. */
type WhenIdle = (call: (of: unknown) => void) => unknown

/** The anchor with the `seq` of its message instead of the id, if the message is loaded. */
function bySeq(channel: ChannelMessages | undefined, anchor: Anchor): Anchor {
  const message = typeof anchor === 'object' && 'id' in anchor ? channel?.get(anchor.id) : undefined
  return message ? { seq: message.seq } : anchor
}

/** Ignores a failed request. The next event or connection causes a new one. */
function ignoreFailure(error: unknown) {
  if (!(error instanceof RequestFailed)) throw error
}
