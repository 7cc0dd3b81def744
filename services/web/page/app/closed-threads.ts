/** The number of closed threads whose replies are kept, because people often return to them. */
const maxKept = 10

/** The threads that were closed last. `forget` is called with the one that was closed before them. */
export function createClosedThreads(forget: (channelId: string, parentId: string) => void) {
  /** The channels of the threads, by the id of the parent, in the order in which the threads were closed. */
  const closed = new Map<string, string>()
  return {
    add(channelId: string, parentId: string) {
      closed.delete(parentId)
      closed.set(parentId, channelId)
      const [oldest] = closed
      if (closed.size <= maxKept || !oldest) return
      closed.delete(oldest[0])
      forget(oldest[1], oldest[0])
    },
  }
}
