import type { WireEvent } from '@parley/contract'
import type { Store, Stored } from '../store/store.ts'

type Note =
  /** A tab needs what the leader knows. */
  | { kind: 'need'; from: string }
  /** The leader has written everything. */
  | { kind: 'saved'; to: string }
  /** A tab looks at a channel: the leader keeps and stores it for the next start. */
  | { kind: 'keep'; channelId: string }
  /** The session of all tabs has ended. */
  | { kind: 'ended'; what: Removed }

/** What goes with a session: everything when somebody has signed out, and the copies when it has ended by itself. */
export type Removed = 'everything' | 'copies'

/** One of the tabs of a browser, as it speaks with the others. */
export interface Tab {
  readonly id: string
  readonly isLeader: boolean
  /** Sends a note to all other tabs. */
  post(topic: string, note: unknown): void
  listen(topic: string, onNote: (note: unknown) => void): void
  /** Calls back once, when this tab is the leader. */
  whenLeader(lead: () => void): void
}

export interface LeadershipParts {
  store: Store
  persistence: { save(): Promise<boolean> }
  onKeep: (channelId: string) => void
  /** The session has ended in another tab. `what` is to be removed. */
  onEnded: (what: Removed) => void
  onStoreFailed: (error: unknown) => void
}

const patienceMs = 5_000
/** After so many vain tries a tab fetches by itself: the store may be broken. */
const mostTries = 3

export type Leadership = ReturnType<typeof createLeadership>

/** With several tabs the leader fetches and writes for all; the others take from the store what they have missed. */
export function createLeadership(tabs: Tab, { store, persistence, ...parts }: LeadershipParts) {
  const askers = new Set<string>()
  let answered: (() => void) | undefined
  let failures = 0
  const isFollower = () => !tabs.isLeader
  const post = (note: Note) => tabs.post('sync', note)

  /** Answers everybody who has asked, as soon as everything that this tab knows is in the store. */
  async function answer() {
    if (askers.size === 0 || !tabs.isLeader || !(await persistence.save())) return
    for (const to of askers) post({ kind: 'saved', to })
    askers.clear()
  }

  function listen(note: Note) {
    if (note.kind === 'need' && tabs.isLeader) {
      askers.add(note.from)
      answer().catch(parts.onStoreFailed)
    } else if (note.kind === 'saved' && note.to === tabs.id) answered?.()
    else if (note.kind === 'keep' && tabs.isLeader) parts.onKeep(note.channelId)
    else if (note.kind === 'ended') parts.onEnded(note.what)
  }

  /**
   * @throws when this tab has become the leader, or when the leader does not answer. The caller then checks who leads.
   */
  async function untilSaved(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => reject(new Error('the leading tab does not answer')), patienceMs)
    tabs.whenLeader(() => reject(new Error('this tab leads now')))
    answered = resolve
    post({ kind: 'need', from: tabs.id })
    await promise.finally(() => clearTimeout(timer))
  }

  tabs.listen('sync', (note) => listen(note as Note))

  return {
    /** How to take what the leader has stored; undefined when this tab has to fetch by itself. */
    take(restore: (stored: Stored) => void, applyAgain: (since: readonly WireEvent[]) => void) {
      if (!isFollower() || failures >= mostTries) return undefined
      return async () => {
        failures++
        await untilSaved()
        const stored = await store.load()
        if (!stored) throw new Error('the store is empty')
        failures = 0
        return (since: readonly WireEvent[]) => {
          restore(stored)
          applyAgain(since)
        }
      }
    },
    keep(channelId: string) {
      if (isFollower()) post({ kind: 'keep', channelId })
    },
    /** Everything that was to be fetched is there. */
    settle: () => void answer().catch(parts.onStoreFailed),
    /** Tells the other tabs that the session has ended, and what is removed. */
    tellEnded: (what: Removed) => post({ kind: 'ended', what }),
  }
}
