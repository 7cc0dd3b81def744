import { type DBSchema, type IDBPDatabase, openDB } from 'idb'
import { type Batch, emptyRecords, type OutboxEntry, type Store, type StoredState, tables } from './store.ts'

/** Raise it with every change of what is stored: what an older version has kept is fetched anew, but for the outbox. */
const schemaVersion = 1

interface Schema extends DBSchema {
  state: { key: string; value: StoredState }
  channels: { key: string; value: unknown }
  conversations: { key: string; value: unknown }
  people: { key: string; value: unknown }
  pages: { key: string; value: unknown }
  outbox: { key: string; value: OutboxEntry }
}

const copied = ['state', ...tables] as const

/** The part of `localStorage` that the store uses. */
export type Journal = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>

/**
 * For a browser: a database of its own for each server and person.
 * @param name names the server and the person, as `${location.origin} ${userId}`
 * @param journal `localStorage`, which keeps a message at once. The database takes some milliseconds, and the page may end before.
 */
export function storeInIndexedDb(name: string, journal?: Journal): Store {
  const prefix = `parley.outbox ${name} `
  let opening: Promise<IDBPDatabase<Schema>> | undefined

  const journaled = (): string[] =>
    Array.from({ length: journal?.length ?? 0 }, (_, index) => journal!.key(index)!).filter((key) =>
      key.startsWith(prefix),
    )

  function note(entry: OutboxEntry) {
    try {
      journal?.setItem(prefix + entry.id, JSON.stringify(entry))
    } catch {
      // It is full or switched off: the database alone has to do.
    }
  }

  /** Undefined when another tab has entered it meanwhile, or when it cannot be read. */
  function readNote(key: string): OutboxEntry | undefined {
    try {
      const entry = JSON.parse(journal!.getItem(key) ?? 'null')
      return typeof entry?.id === 'string' ? entry : undefined
    } catch {
      // Something else has written it.
      return undefined
    }
  }

  /** Enters what an earlier page could not store any more. What the database has is newer. */
  async function recover(database: IDBPDatabase<Schema>) {
    for (const key of journaled()) {
      const entry = readNote(key)
      try {
        if (entry) {
          const { store, done } = database.transaction('outbox', 'readwrite', { durability: 'strict' })
          const enter = async () => {
            if ((await store.getKey(entry.id)) === undefined) await store.put(entry, entry.id)
          }
          await Promise.all([enter(), done])
        }
        journal!.removeItem(key)
      } catch {
        // The disk is full, for example. The note stays, and the next opening tries again.
      }
    }
    return database
  }

  const open = () => {
    opening ??= openDB<Schema>(`parley ${name}`, schemaVersion, {
      upgrade(database) {
        for (const each of copied) {
          if (database.objectStoreNames.contains(each)) database.deleteObjectStore(each)
          database.createObjectStore(each)
        }
        if (!database.objectStoreNames.contains('outbox')) database.createObjectStore('outbox')
      },
      // Another tab has a newer version of the page, or removes the database.
      blocking: () => close(),
      terminated: () => {
        opening = undefined
      },
    }).then(recover)
    const tried = opening
    // The next call tries again.
    tried.catch(() => {
      if (opening === tried) opening = undefined
    })
    return tried
  }

  function close() {
    opening?.then(
      (database) => database.close(),
      () => {
        // It was never open.
      },
    )
    opening = undefined
  }

  return {
    isShared: true,

    async load() {
      const transaction = (await open()).transaction(copied, 'readonly')
      const stateRead = transaction.objectStore('state').get('state')
      const reads = tables.map(async (table) => {
        const records = transaction.objectStore(table)
        const [keys, values] = await Promise.all([records.getAllKeys(), records.getAll()])
        return [table, new Map(keys.map((key, index) => [key, values[index]]))] as const
      })
      const [state, ...read] = await Promise.all([stateRead, ...reads])
      return state && { state, records: { ...emptyRecords(), ...Object.fromEntries(read) } }
    },

    async save({ state, isWhole, put, remove }: Batch) {
      const transaction = (await open()).transaction(copied, 'readwrite', { durability: 'relaxed' })
      if (!isWhole && (await transaction.objectStore('state').getKey('state')) === undefined) return 'wiped'
      const writes: Promise<unknown>[] = [transaction.done]
      if (isWhole) for (const each of copied) writes.push(transaction.objectStore(each).clear())
      for (const { table, id } of remove) writes.push(transaction.objectStore(table).delete(id))
      for (const { table, id, value } of put) writes.push(transaction.objectStore(table).put(value, id))
      writes.push(transaction.objectStore('state').put(state, 'state'))
      await Promise.all(writes)
      return undefined
    },

    readOutbox: async () => (await open()).getAll('outbox'),
    async putOutbox(entry) {
      const database = open()
      note(entry)
      try {
        const transaction = (await database).transaction('outbox', 'readwrite', { durability: 'strict' })
        await Promise.all([transaction.store.put(entry, entry.id), transaction.done])
      } finally {
        journal?.removeItem(prefix + entry.id)
      }
    },
    async removeFromOutbox(id) {
      journal?.removeItem(prefix + id)
      await (await open()).delete('outbox', id)
    },

    async wipe(what) {
      const wiped = what === 'everything' ? ([...copied, 'outbox'] as const) : copied
      const transaction = (await open()).transaction(wiped, 'readwrite')
      await Promise.all([...wiped.map((each) => transaction.objectStore(each).clear()), transaction.done])
      if (what === 'everything') for (const key of journaled()) journal!.removeItem(key)
    },
    close,
  }
}
