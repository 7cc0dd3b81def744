import type { ThreadReadState } from '@parley/contract'
import { effect, type Signal, signal } from '@preact/signals'
import { dropOldest } from '../app/drop-oldest.ts'
import type { Workspace } from '../app/workspace.ts'
import { ignoreFailure } from '../ui/retries.ts'

/** Whether the person follows a thread, and how far they have read it. */
export type FollowState = Pick<ThreadReadState, 'isFollowing' | 'readSeq'>

type FollowStates = ReturnType<typeof createFollowStates>

/** The number of threads whose state is kept, because people often return to them. */
const maxStates = 50
const ofWorkspaces = new WeakMap<Workspace, FollowStates>()

/** The states of the threads that were opened last. Events keep them up to date. */
export function followStatesOf(workspace: Workspace): FollowStates {
  const states = ofWorkspaces.get(workspace) ?? createFollowStates(workspace)
  ofWorkspaces.set(workspace, states)
  return states
}

function createFollowStates({ client, connection, listen }: Workspace) {
  const states = new Map<string, Signal<FollowState | undefined>>()
  /** The threads whose state has come since the stream was opened, so that no event is missing. */
  const current = new Set<string>()
  listen(({ type, payload }) => {
    if (type !== 'THREAD_READ_UPDATE') return
    const state = states.get(payload.messageId)
    if (state) state.value = payload
  })
  effect(() => {
    if (connection.value !== 'live') current.clear()
  })

  return {
    /** The state of a thread. It is undefined until it is fetched. */
    of(parentId: string): Signal<FollowState | undefined> {
      const state = states.get(parentId) ?? signal(undefined)
      states.delete(parentId)
      states.set(parentId, state)
      const oldest = dropOldest(states, maxStates)
      if (oldest) current.delete(oldest[0])
      return state
    },
    /** Fetches the state of a thread, unless it is current. */
    async fetch(parentId: string, signal: AbortSignal): Promise<void> {
      if (current.has(parentId)) return
      const state = states.get(parentId)!
      const before = state.value
      try {
        const input = { params: { messageId: parentId }, query: { limit: 1 }, signal }
        const { isFollowing = false, readSeq = 0 } = await client.request('GET /messages/:messageId/thread', input)
        // An event that has come meanwhile may be newer.
        if (state.value === before) state.value = { isFollowing, readSeq }
        current.add(parentId)
      } catch (error) {
        // It is fetched again when the stream is open again, or the thread is opened again.
        if (!signal.aborted) ignoreFailure(error)
      }
    },
  }
}
