import { type DBSchema, type IDBPDatabase, openDB } from 'idb'
import { parseJson } from './json.ts'
import { type Batch, emptyRecords, type OutboxEntry, type Store, type StoredState, tables } from './store.ts'

/** Increase it with every change of the stored records. Then clients fetch everything again. Only the outbox is kept. */
const schemaVersion = 3

interface Schema extends DBSchema {
  state: { key: string; value: StoredState | 'empty' }
  channels: { key: string; value: unknown }
  conversations: { key: string; value: unknown }
  people: { key: string; value: unknown }
  pages: { key: string; value: unknown }
  outbox: { key: string; value: OutboxEntry }
}

const copied = ['state', ...tables] as const

/** The key of a record of `state` that exists while no copies are stored. */
const emptyMark = 'empty'

/** The part of `localStorage` that the store uses. */
type Journal = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>

/**
 * For a browser: one database for each server and person.
 * @param name the server and the person: `${location.origin} ${userId}`
 * @param journal `localStorage`, which stores a message immediately. The database takes some milliseconds, and the page may be closed
 * before that.
 */
export function storeInIndexedDb(name: string, journal?: Journal): Store {
  const prefix = `parley.outbox ${name} `
  let opening: Promise<IDBPDatabase<Schema>> | undefined

  const journaled = (): string[] =>
    Array.from({ length: journal?.length ?? 0 }, (_, index) => journal!.key(index)!).filter((key) =>
      key.startsWith(prefix),
    )

  function writeToJournal(entry: OutboxEntry) {
    try {
      journal?.setItem(prefix + entry.id, JSON.stringify(entry))
    } catch {
      // The journal is full or disabled, so the entry is only in the database.
    }
  }

  /** Undefined when another tab has moved the entry to the database meanwhile, or when another program has written the item. */
  function readFromJournal(key: string): OutboxEntry | undefined {
    const entry = parseJson(journal!.getItem(key) ?? 'null')
    return isOutboxEntry(entry) ? entry : undefined
  }

  /** Moves the entries that an earlier page could not write into the database. Entries in the database are newer. */
  async function recover(database: IDBPDatabase<Schema>) {
    for (const key of journaled()) {
      const entry = readFromJournal(key)
      try {
        if (entry) {
          const transaction = database.transaction('outbox', 'readwrite', { durability: 'strict' })
          const added = commit(transaction, [transaction.store.add(entry, entry.id)])
          await added.catch((error) => {
            if (!alreadyExists(error)) throw error
          })
        }
        journal!.removeItem(key)
      } catch {
        // For example, the disk is full. The item stays in the journal, and the next start tries again.
      }
    }
    return database
  }

  const open = () => {
    opening ??= openDB<Schema>(`parley ${name}`, schemaVersion, {
      upgrade(database, _from, _to, transaction) {
        for (const each of copied) {
          if (database.objectStoreNames.contains(each)) database.deleteObjectStore(each)
          database.createObjectStore(each)
        }
        void transaction.objectStore('state').put('empty', emptyMark)
        if (!database.objectStoreNames.contains('outbox')) database.createObjectStore('outbox')
      },
      // Another tab opens a newer version of the database, or deletes it.
      blocking: () => close(),
      terminated: () => {
        opening = undefined
      },
    }).then(recover)
    const current = opening
    // After a failure, the next call tries again.
    current.catch(() => {
      if (opening === current) opening = undefined
    })
    return current
  }

  function close() {
    opening?.then(
      (database) => database.close(),
      () => {
        // The database could not be opened, so there is nothing to close.
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
      transaction.commit()
      const [state, ...read] = await Promise.all([stateRead, ...reads])
      return typeof state === 'object'
        ? { state, records: { ...emptyRecords(), ...Object.fromEntries(read) } }
        : undefined
    },

    async save({ state, isWhole, put, remove }: Batch) {
      const transaction = (await open()).transaction(copied, 'readwrite', { durability: 'relaxed' })
      const states = transaction.objectStore('state')
      // After another tab has wiped the copies, `add` fails, and with it the transaction. A read of the mark would not do: a page that is
      // being left does not get its result.
      const writes: Promise<unknown>[] = isWhole
        ? copied.map((each) => transaction.objectStore(each).clear())
        : [states.add('empty', emptyMark), states.delete(emptyMark)]
      for (const { table, id } of remove) writes.push(transaction.objectStore(table).delete(id))
      for (const { table, id, value } of put) writes.push(transaction.objectStore(table).put(value, id))
      writes.push(states.put(state, 'state'))
      try {
        await commit(transaction, writes)
        return undefined
      } catch (error) {
        if (alreadyExists(error)) return 'wiped'
        throw error
      }
    },

    async readOutbox() {
      const transaction = (await open()).transaction('outbox', 'readonly')
      const entries = transaction.store.getAll()
      await commit(transaction, [entries])
      return entries
    },
    async putOutbox(entry) {
      const database = open()
      writeToJournal(entry)
      try {
        const transaction = (await database).transaction('outbox', 'readwrite', { durability: 'strict' })
        await commit(transaction, [transaction.store.put(entry, entry.id)])
      } finally {
        journal?.removeItem(prefix + entry.id)
      }
    },
    async removeFromOutbox(id) {
      journal?.removeItem(prefix + id)
      const transaction = (await open()).transaction('outbox', 'readwrite')
      await commit(transaction, [transaction.store.delete(id)])
    },

    async wipe(what) {
      const wiped = what === 'everything' ? ([...copied, 'outbox'] as const) : copied
      const transaction = (await open()).transaction(wiped, 'readwrite')
      const cleared = wiped.map((each) => transaction.objectStore(each).clear())
      await commit(transaction, [...cleared, transaction.objectStore('state').put('empty', emptyMark)])
      if (what === 'everything') for (const key of journaled()) journal!.removeItem(key)
    },
    close,
  }
}

function isOutboxEntry(value: unknown): value is OutboxEntry {
  const { id, userId, channelId, body, createdAt } = (value ?? {}) as Partial<OutboxEntry>
  return (
    [id, userId, channelId].every((each) => typeof each === 'string') &&
    typeof body === 'object' &&
    body !== null &&
    typeof createdAt === 'number'
  )
}

/**
 * Commits a transaction when all its requests are made, and resolves when they are done. Otherwise the browser commits it after the page has
 * received the results. Safari keeps a page that is left for "back", with its open transaction, and then all later transactions of
 * all pages wait for ever.
 */
async function commit(transaction: { commit(): void; done: Promise<void> }, requests: Promise<unknown>[]) {
  transaction.commit()
  await Promise.all([...requests, transaction.done])
}

const alreadyExists = (error: unknown) => (error as Error).name === 'ConstraintError'
