import type { ListedWebhook, Role, UserView } from '@parley/contract'
import type { MessageBody } from '../requests/routes.ts'

/** The kinds of records. A record of `pages` has the newest messages of a channel or conversation. */
export const tables = ['channels', 'conversations', 'people', 'pages'] as const
export type Table = (typeof tables)[number]

/** The signed-in person. */
export interface Me extends Omit<UserView, 'customStatus'> {
  /** The previous version does not store it. */
  customStatus?: UserView['customStatus']
  /** The ids of the groups of which the person is a member. */
  groups: readonly string[]
  /** Whether a directory provides display name and title. The previous version does not say so. */
  isManaged?: boolean
}

/** The signed-in person until they are known. */
export const unknownMe: Me = {
  id: '',
  userName: '',
  displayName: null,
  title: null,
  email: '',
  role: 'member',
  isAdmin: false,
  isActive: true,
  isBot: false,
  avatarVersion: null,
  expiresAt: null,
  groups: [],
}

/** The state that belongs to all stored records. */
export interface StoredState {
  me: Me
  /** The role of the person when the records were stored. */
  role: Role | undefined
  scope: 'all' | 'joined'
  /** The cursor at which the stream resumes. No record is older than the event of this cursor. */
  cursor: string
  settings: { name: string }
  webhooks: ListedWebhook[]
}

/** What a store returns at the next start. */
export interface Stored {
  state: StoredState
  records: Record<Table, Map<string, unknown>>
}

/** The content of one transaction. */
export interface Batch {
  state: StoredState
  /** Whether the batch replaces everything that is stored, apart from the outbox. */
  isWhole: boolean
  put: { table: Table; id: string; value: unknown }[]
  remove: { table: Table; id: string }[]
}

/** A message that is not sent yet. */
export interface OutboxEntry {
  /** The `nonce`, which identifies the message in its event, and the `Idempotency-Key`. */
  id: string
  /** The author. */
  userId: string
  /** A channel or conversation. */
  channelId: string
  /** For a reply: the message that it answers. */
  parentId?: string | undefined
  body: MessageBody
  /** When the message was typed, in epoch milliseconds. Messages of one channel are sent in this order. */
  createdAt: number
  state: 'waiting' | 'sending' | 'failed'
  /** When the client first tried to send it, in epoch milliseconds. */
  triedAt?: number
  /** Why the server refused it: the error sentence for the person, and its code. */
  failure?: { error: string; code: string }
}

/** What is removed at the end of a session: everything after signing out, or only the copies of server data when it ended by itself. */
export type Removal = 'everything' | 'copies'

/** Stores the data and the outbox of a sync engine. One store belongs to one person on one server. */
export interface Store {
  /** Whether all tabs of the browser use the same store. */
  readonly isShared: boolean
  /** Reads the stored data in one transaction. Undefined when nothing is stored. */
  load(): Promise<Stored | undefined>
  /** Writes the batch in one transaction. Returns `wiped`, and writes nothing, when another tab has wiped the data that it changes. */
  save(batch: Batch): Promise<'wiped' | undefined>
  readOutbox(): Promise<OutboxEntry[]>
  putOutbox(entry: OutboxEntry): Promise<void>
  removeFromOutbox(id: string): Promise<void>
  /** Removes everything, or with `copies` everything except the outbox. */
  wipe(what: Removal): Promise<void>
  close(): void
}

/** A store that lasts as long as the process, for bots and tests. */
export function storeInMemory(): Store {
  let kept: Stored | undefined
  const outbox = new Map<string, OutboxEntry>()
  return {
    isShared: false,
    load: async () => kept && structuredClone(kept),
    async save({ state, isWhole, put, remove }) {
      const records = kept && !isWhole ? kept.records : emptyRecords()
      for (const { table, id } of remove) records[table].delete(id)
      for (const { table, id, value } of put) records[table].set(id, structuredClone(value))
      kept = { state: structuredClone(state), records }
      return undefined
    },
    readOutbox: async () => structuredClone([...outbox.values()]),
    putOutbox: async (entry) => void outbox.set(entry.id, structuredClone(entry)),
    removeFromOutbox: async (id) => void outbox.delete(id),
    async wipe(what) {
      kept = undefined
      if (what === 'everything') outbox.clear()
    },
    close() {},
  }
}

export const emptyRecords = (): Stored['records'] => ({
  channels: new Map(),
  conversations: new Map(),
  people: new Map(),
  pages: new Map(),
})
