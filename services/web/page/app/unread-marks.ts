import { signal } from '@preact/signals'

const prefix = 'parley.unread '

/**
 * The `seq` of the message that the person has marked as unread, by channel or conversation. A read state of the server never goes back,
 * so the marks are stored in the browser, for all its tabs.
 */
export function createUnreadMarks(userId: string) {
  const key = `${prefix}${userId}`
  const read = () => new Map(JSON.parse(localStorage.getItem(key) ?? '[]') as [string, number][])
  const marks = signal<ReadonlyMap<string, number>>(read())
  const listen = (event: StorageEvent) => {
    if (event.key === key) marks.value = read()
  }
  addEventListener('storage', listen)

  function change(change: (next: Map<string, number>) => void) {
    const next = read()
    change(next)
    localStorage.setItem(key, JSON.stringify([...next]))
    marks.value = next
  }

  return {
    all: () => marks.value,
    of: (id: string) => marks.value.get(id),
    set: (id: string, seq: number) => change((next) => next.set(id, seq)),
    /** Returns the mark of a channel and removes it, because the channel is open now. */
    take(id: string): number | undefined {
      const seq = marks.peek().get(id)
      if (seq !== undefined) change((next) => next.delete(id))
      return seq
    },
    close: () => removeEventListener('storage', listen),
  }
}

/** The number of unread messages, from the server's count and the mark. */
export const unreadIn = (
  marked: number | undefined,
  { unreadCount, lastSeq }: { unreadCount: number; lastSeq: number },
) => (marked === undefined ? unreadCount : Math.max(unreadCount, lastSeq - marked + 1, 1))

export function forgetUnreadMarks() {
  for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) localStorage.removeItem(key)
}
