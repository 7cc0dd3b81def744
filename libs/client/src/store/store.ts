import type { ListedWebhook, Role, UserView } from '@parley/contract'
import type { MessageBody } from '../requests/routes.ts'

/** What is kept by id. `pages` are the newest messages of a channel or conversation. */
export const tables = ['channels', 'conversations', 'people', 'pages'] as const
export type Table = (typeof tables)[number]

/** The person who is signed in. */
export interface Me extends UserView {
  /** The ids of the groups that they are in. */
  groups: readonly string[]
}

/** What the records belong to. */
export interface StoredState {
  me: Me
  /** The role that the records were kept for. */
  role: Role | undefined
  scope: 'all' | 'joined'
  /** Where the stream goes on: every record is what it was after the event of this cursor, or newer. */
  cursor: string
  settings: { name: string }
  webhooks: ListedWebhook[]
}

export interface Stored {
  state: StoredState
  records: Record<Table, Map<string, unknown>>
}

/** What one transaction writes. */
export interface Batch {
  state: StoredState
  /** Nothing that was there before stays. */
  isWhole: boolean
  put: { table: Table; id: string; value: unknown }[]
  remove: { table: Table; id: string }[]
}

/** A message that is still to be sent. */
export interface OutboxEntry {
  /** Its `nonce`, by which it is known when it comes back, and its `Idempotency-Key`. */
  id: string
  /** The author. */
  userId: string
  /** A channel or conversation. */
  channelId: string
  /** Of a reply, the message that it answers. */
  parentId?: string | undefined
  body: MessageBody
  /** When it was typed, in epoch milliseconds; the order in which the messages of a conversation are sent. */
  createdAt: number
  state: 'waiting' | 'sending' | 'failed'
  /** When it was first sent. */
  triedAt?: number
  /** Why it failed: the server's sentence for the person, and its code. */
  failure?: { error: string; code: string }
}

/** Where a sync engine keeps what it knows, and what is still to be sent. One store belongs to one person on one server. */
export interface Store {
  /** Whether all tabs of the browser see the same store. */
  readonly isShared: boolean
  /** Undefined when nothing was kept. All of it is of the same moment. */
  load(): Promise<Stored | undefined>
  /** All of the batch, or nothing. Answers `wiped` when it is not whole and another tab has wiped what it changes. */
  save(batch: Batch): Promise<'wiped' | undefined>
  readOutbox(): Promise<OutboxEntry[]>
  putOutbox(entry: OutboxEntry): Promise<void>
  removeFromOutbox(id: string): Promise<void>
  /** Forgets everything, or everything but what is still to be sent. */
  wipe(what: 'everything' | 'copies'): Promise<void>
  close(): void
}

/** For one process, which forgets everything at its end: bots and tests. */
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
