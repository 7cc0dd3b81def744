import type { EventStream } from './event-stream.ts'

interface SharedWatchingParts {
  tabId: string
  /** The stream to the server. Only the leader has one. */
  serverStream: () => EventStream | undefined
  /** Asks the leader to watch these channels for this tab. */
  ask: (channelIds: string[]) => void
}

/**
 * The channels that the shared connection watches, because a tab shows them and the person has not joined them. The leader knows what each
 * tab wants. Every other tab knows what it wants itself, and what is watched.
 */
export function createSharedWatching({ tabId, serverStream, ask }: SharedWatchingParts) {
  /** The wanted channels of each tab. */
  const wanted = new Map<string, string[]>()
  let watched: string[] = []
  const waiters: (() => void)[] = []
  let isClosed = false

  /** The channels that some tab wants. */
  const wantedByAll = () => [...new Set([...wanted.values()].flat())]
  const areWatched = (channelIds: readonly string[]) => channelIds.every((id) => watched.includes(id))

  /** The leader watches what some tab wants. */
  async function watchAll() {
    const channelIds = wantedByAll()
    await serverStream()!.watch(channelIds)
    if (!isClosed) setWatched(channelIds)
  }

  /** Call it with the channels that the shared connection watches now. Asks the leader for those of this tab that are missing. */
  function setWatched(channelIds: string[]) {
    watched = channelIds
    const mine = wanted.get(tabId) ?? []
    if (areWatched(mine)) for (const resolve of waiters.splice(0)) resolve()
    else if (!serverStream()) ask(mine)
  }

  /** The channels that this tab wanted when it was hidden. The browser may show it again. */
  let wantedWhenHidden: string[] | undefined
  function onHide() {
    if (serverStream()) return
    wantedWhenHidden = wanted.get(tabId)
    wanted.delete(tabId)
    ask([])
  }
  function onShow() {
    if (serverStream() || !wantedWhenHidden) return
    wanted.set(tabId, wantedWhenHidden)
    ask(wantedWhenHidden)
  }
  const page = globalThis as Partial<EventTarget>
  page.addEventListener?.('pagehide', onHide)
  page.addEventListener?.('pageshow', onShow)

  return {
    watched: () => watched,
    setWatched,
    watchAll,
    /** The stream of the leader has opened with all wanted channels. */
    onOpen() {
      watched = wantedByAll()
    },
    /** Another tab has asked this one, the leader. */
    onAsked(from: string, channelIds: string[]) {
      wanted.set(from, channelIds)
      void watchAll()
    },
    /** Resolves when the shared connection watches these channels for this tab. */
    watch(channelIds: readonly string[]): Promise<void> {
      const mine = [...channelIds]
      wanted.set(tabId, mine)
      if (serverStream()) return watchAll()
      const isDone = areWatched(mine) && waiters.length === 0
      const done = isDone ? Promise.resolve() : new Promise<void>((resolve) => waiters.push(resolve))
      ask(mine)
      return done
    },
    close() {
      isClosed = true
      page.removeEventListener?.('pagehide', onHide)
      page.removeEventListener?.('pageshow', onShow)
      onHide()
      for (const resolve of waiters.splice(0)) resolve()
    },
  }
}
