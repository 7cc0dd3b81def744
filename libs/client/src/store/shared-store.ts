import type { Removal, Store, Stored } from './store.ts'

type Note =
  /** A tab needs current data, and waits until the leader has stored them. */
  | { kind: 'need'; from: string }
  /** The leader has stored all its data. */
  | { kind: 'saved'; to: string }
  /** A tab shows a channel. The leader loads and stores its messages for the next start. */
  | { kind: 'keep'; channelId: string }
  /** The session of all tabs has ended. */
  | { kind: 'ended'; what: Removal }

/** One of the tabs of a browser, with what it needs to communicate with the others. */
export interface Tab {
  readonly id: string
  readonly isLeader: boolean
  /** Sends a note to all other tabs. */
  post(topic: string, note: unknown): void
  listen(topic: string, onNote: (note: unknown) => void): void
  /** Calls `lead` once, as soon as this tab is the leader. */
  whenLeader(lead: () => void): void
}

export interface SharedStoreParts {
  store: Store
  persistence: { save(): Promise<boolean> }
  onKeep: (channelId: string) => void
  /** The session has ended in another tab. `what` says which data to remove. */
  onEnded: (what: Removal) => void
  onStoreFailed: (error: unknown) => void
}

const leaderTimeoutMs = 5_000
/** After this many failures a tab fetches from the server instead, because the store may be broken. */
const maxTries = 3

export type SharedStore = ReturnType<typeof createSharedStore>

/** Among several tabs, only the leader fetches and writes to the store. The other tabs read from the store what they have missed. */
export function createSharedStore(tabs: Tab, { store, persistence, ...parts }: SharedStoreParts) {
  /** The ids of the tabs that wait for the note `saved`. */
  const waitingTabs = new Set<string>()
  let onSaved: (() => void) | undefined
  let failures = 0
  const post = (note: Note) => tabs.post('sync', note)

  /** Stores all data of this tab, and then notifies the waiting tabs. */
  async function saveForWaitingTabs() {
    if (waitingTabs.size === 0 || !tabs.isLeader || !(await persistence.save())) return
    for (const to of waitingTabs) post({ kind: 'saved', to })
    waitingTabs.clear()
  }

  function listen(note: Note) {
    if (note.kind === 'need' && tabs.isLeader) {
      waitingTabs.add(note.from)
      saveForWaitingTabs().catch(parts.onStoreFailed)
    } else if (note.kind === 'saved' && note.to === tabs.id) onSaved?.()
    else if (note.kind === 'keep' && tabs.isLeader) parts.onKeep(note.channelId)
    else if (note.kind === 'ended') parts.onEnded(note.what)
  }

  /**
   * Waits until the leader has stored its data. @throws when this tab has become the leader, or when the leader does not respond. Then the
   * caller checks again which tab leads.
   */
  async function untilSaved(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => reject(new Error('The leading tab did not respond')), leaderTimeoutMs)
    tabs.whenLeader(() => reject(new Error('This tab has become the leader')))
    onSaved = resolve
    post({ kind: 'need', from: tabs.id })
    await promise.finally(() => clearTimeout(timer))
  }

  tabs.listen('sync', (note) => listen(note as Note))

  return {
    /** Returns a function that reads the data of the leader from the store. Undefined when this tab must fetch from the server. */
    readFromLeader() {
      if (tabs.isLeader || failures >= maxTries) return undefined
      return async (): Promise<Stored> => {
        failures++
        await untilSaved()
        const stored = await store.load()
        if (!stored) throw new Error('The store is empty')
        failures = 0
        return stored
      }
    },
    /** Asks the leader to load and store the messages of a channel that this tab shows. */
    keep(channelId: string) {
      if (!tabs.isLeader) post({ kind: 'keep', channelId })
    },
    /** Call it when nothing is being fetched any more: the data can be stored for the waiting tabs. */
    onSettled: () => void saveForWaitingTabs().catch(parts.onStoreFailed),
    /** Tells the other tabs that the session has ended, and which data to remove. */
    notifyEnd: (what: Removal) => post({ kind: 'ended', what }),
  }
}
