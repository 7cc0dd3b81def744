import { dropOldest } from './drop-oldest.ts'

/** The number of closed threads whose replies are kept, because people often return to them. */
const maxKept = 10

/** Remembers the threads that were closed last. `forget` is called with a thread that is not remembered any more. */
export function createClosedThreads(forget: (channelId: string, parentId: string) => void) {
  /** The channels of the threads, by the id of the parent, in the order in which the threads were closed. */
  const closed = new Map<string, string>()
  return {
    add(channelId: string, parentId: string) {
      closed.delete(parentId)
      closed.set(parentId, channelId)
      const oldest = dropOldest(closed, maxKept)
      if (oldest) forget(oldest[1], oldest[0])
    },
  }
}
