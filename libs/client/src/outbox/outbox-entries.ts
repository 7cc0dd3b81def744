import type { Changes } from '../store/changes.ts'
import { removeOthers } from '../store/remove-others.ts'
import type { OutboxEntry, Store } from '../store/store.ts'
import type { Tabs } from '../stream/tabs.ts'

interface OutboxEntriesParts {
  store: Store
  tabs: Tabs
  changes: Changes
  userId: () => string | undefined
}

export type OutboxEntries = ReturnType<typeof createOutboxEntries>

/** The entries of the outbox as this tab shows them, and as they are stored for all tabs. Entries of another person are left out. */
export function createOutboxEntries({ store, tabs, changes, userId }: OutboxEntriesParts) {
  const entries = new Map<string, OutboxEntry>()
  /** The results of `list`, by channel or conversation, until an entry changes. */
  const sortedLists = new Map<string, readonly OutboxEntry[]>()
  /** The ids of removed entries. A read of the store that began earlier must not add them again. */
  const removed = new Set<string>()
  /** The ids of entries whose newest state is not stored yet. */
  const unstored = new Set<string>()
  /** The number of entries that this tab has written. */
  let writes = 0

  const notifyTabs = () => tabs.post('outbox', 'changed')

  function touch({ channelId }: OutboxEntry) {
    sortedLists.delete(channelId)
    changes.touch(`outbox:${channelId}`)
    changes.touch('outbox')
  }

  function show(entry: OutboxEntry) {
    entries.set(entry.id, entry)
    touch(entry)
  }

  function hide(id: string) {
    const entry = entries.get(id)
    removed.add(id)
    if (!entry) return
    entries.delete(id)
    touch(entry)
  }

  /** The entries of a channel or conversation and of its threads, in the order in which they will be sent. */
  function list(channelId: string): readonly OutboxEntry[] {
    const sorted =
      sortedLists.get(channelId) ??
      [...entries.values()]
        .filter((entry) => entry.channelId === channelId)
        .sort((one, next) => one.createdAt - next.createdAt || (one.id < next.id ? -1 : 1))
    sortedLists.set(channelId, sorted)
    return sorted
  }

  /** Shows an entry immediately, and stores it. */
  async function save(entry: OutboxEntry) {
    unstored.add(entry.id)
    show(entry)
    try {
      await store.putOutbox(entry)
    } finally {
      unstored.delete(entry.id)
      writes++
    }
    if (removed.has(entry.id)) await store.removeFromOutbox(entry.id)
    notifyTabs()
  }

  return {
    list,
    get: (id: string) => entries.get(id),
    size: () => entries.size,
    channelIds: () => new Set([...entries.values()].map((entry) => entry.channelId)),
    /** The entry of a channel or conversation that is sent next. */
    next: (channelId: string) => list(channelId).find(({ id, state }) => state !== 'failed' && !unstored.has(id)),
    /** A time after that of all entries, even if the clock was set back. */
    laterThanAll: () => Math.max(Date.now(), ...[...entries.values()].map((each) => each.createdAt + 1)),

    save,
    /** Adds an entry in place of `old`, which is not shown any more. @throws when it cannot be stored. Then all is as before. */
    async add(entry: OutboxEntry, old?: OutboxEntry) {
      if (old) hide(old.id)
      try {
        await save(entry)
      } catch (error) {
        hide(entry.id)
        if (old) {
          removed.delete(old.id)
          show(old)
        }
        throw error
      }
    },
    async remove(id: string) {
      hide(id)
      await store.removeFromOutbox(id)
      notifyTabs()
    },
    /** Reads the stored entries, which may be from other tabs or from before a reload. */
    async read() {
      let all: OutboxEntry[]
      let before: number
      do {
        before = writes
        all = await store.readOutbox()
        // When this tab has written meanwhile, the result may be outdated.
      } while (before !== writes)
      const stored = all.filter((entry) => entry.userId === userId() && !removed.has(entry.id))
      for (const entry of stored) if (!unstored.has(entry.id)) show(entry)
      removeOthers(entries.keys(), stored, (id) => !unstored.has(id) && hide(id))
    },
  }
}
