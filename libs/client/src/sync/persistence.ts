import { isConversationId } from '../requests/routes.ts'
import type { Changes } from '../store/changes.ts'
import type { Batch, Removal, Store, Stored, StoredState, Table } from '../store/store.ts'
import type { Lists } from './lists.ts'
import type { OpenChannels } from './open-channels.ts'

interface PersistenceParts {
  store: Store
  changes: Changes
  lists: Lists
  channels: OpenChannels
  scope: 'all' | 'joined'
  /** Undefined while the data are older than the stream's cursor, because some are still being fetched. */
  cursor: () => string | undefined
  /** Whether this tab writes to the store. Only the leader does. */
  isWriter: () => boolean
  onFailed: (error: unknown) => void
}

const saveAfterMs = 300

/**
 * Writes changed records and the cursor to the store in one transaction. So stored records are never older than the cursor, and a later
 * start that resumes at the cursor misses nothing. Records may be newer, because applying an event twice changes nothing.
 */
export function createPersistence({ store, changes, lists, channels, ...parts }: PersistenceParts) {
  let timer: ReturnType<typeof setTimeout> | undefined
  let saving: Promise<unknown> = Promise.resolve()
  /** Whether the next transaction replaces everything that is stored. */
  let isWhole = true
  let savedCursor: string | undefined
  let isClosed = false

  /** Saves after a short pause, so that one transaction writes many changes. */
  function schedule() {
    if (isClosed) return
    timer ??= setTimeout(() => {
      timer = undefined
      void save().catch(parts.onFailed)
    }, saveAfterMs)
  }

  /** Resolves with true once all current data are stored, or with false when they cannot be stored at this moment. */
  function save(): Promise<boolean> {
    const saved = saving.then(write)
    saving = saved.catch(() => {})
    return saved
  }

  async function write(): Promise<boolean> {
    const cursor = parts.cursor()
    if (isClosed || cursor === undefined || !parts.isWriter()) return false
    const unsaved = changes.takeUnsaved()
    if (!isWhole && unsaved.size === 0 && cursor === savedCursor) return true
    const batch = isWhole ? wholeBatch(cursor) : batchOf(cursor, unsaved)
    isWhole = false
    try {
      if (await store.save(batch)) {
        // Another tab has wiped the data that the batch changes.
        isWhole = true
        return write()
      }
      savedCursor = cursor
      return true
    } catch (error) {
      // The transaction has written nothing. The next one writes everything.
      isWhole = true
      throw error
    }
  }

  /** The stored messages of a channel. After a restart the stream follows only joined channels, so with `joined` no others are stored. */
  const pageOf = (id: string) =>
    isConversationId(id) || parts.scope === 'all' || lists.channel(id)?.isMember ? channels.toStore(id) : undefined

  function batchOf(cursor: string, unsaved: Map<Table, Iterable<string>>): Batch {
    const state: StoredState = {
      me: lists.me(),
      role: lists.role(),
      scope: parts.scope,
      cursor,
      settings: lists.settings(),
      webhooks: lists.webhooks(),
    }
    const batch: Batch = { state, isWhole: false, put: [], remove: [] }
    for (const [table, ids] of unsaved) {
      for (const id of ids) {
        const value = table === 'pages' ? pageOf(id) : lists.toStore(table, id)
        if (value === undefined) batch.remove.push({ table, id })
        else batch.put.push({ table, id, value })
      }
    }
    return batch
  }

  function wholeBatch(cursor: string): Batch {
    const ids = { ...lists.storedIds(), pages: channels.storedIds() }
    return { ...batchOf(cursor, new Map(Object.entries(ids) as [Table, Iterable<string>][])), isWhole: true }
  }

  changes.whenUnsaved(schedule)

  return {
    schedule,
    save,
    /** Makes the next transaction replace all stored data. */
    replaceAll() {
      isWhole = true
    },
    /** Reads the stored data. Undefined when they belong to another person or scope. */
    async load(userId: string | undefined): Promise<Stored | undefined> {
      const stored = await store.load()
      const isOwn = userId === undefined || stored?.state.me.id === userId
      // Earlier versions did not store the groups.
      return stored?.state.me.groups && isOwn && stored.state.scope === parts.scope ? stored : undefined
    },
    /** Call it when the data were restored from the store. Only changes are written afterwards. */
    setRestored({ state }: Stored) {
      changes.takeUnsaved()
      isWhole = false
      savedCursor = state.cursor
    },
    /** Stops writing, and removes the stored data. The store can be closed afterwards. */
    wipe(what: Removal): Promise<void> {
      isClosed = true
      clearTimeout(timer)
      const wiped = saving.then(() => store.wipe(what))
      saving = wiped.catch(() => {})
      return wiped
    },
    close() {
      isClosed = true
      clearTimeout(timer)
      void saving.then(() => store.close())
    },
  }
}
