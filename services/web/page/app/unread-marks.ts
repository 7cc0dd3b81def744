import { signal } from '@preact/signals'

const prefix = 'parley.unread '

export type UnreadMarks = ReturnType<typeof createUnreadMarks>

/**
 * Messages that the person has marked as unread, by channel or conversation: the `seq` of each. The server knows only how far somebody
 * has read, and that never goes back, so these belong to the browser, and all its tabs see them.
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
    /** Answers what was marked, and forgets it: the channel is open now. */
    take(id: string): number | undefined {
      const seq = marks.peek().get(id)
      if (seq !== undefined) change((next) => next.delete(id))
      return seq
    },
    close: () => removeEventListener('storage', listen),
  }
}

/** What is unread for the person: what the server counts, and what they have marked. */
export const unreadIn = (
  marked: number | undefined,
  { unreadCount, lastSeq }: { unreadCount: number; lastSeq: number },
) => (marked === undefined ? unreadCount : Math.max(unreadCount, lastSeq - marked + 1, 1))

export function forgetUnreadMarks() {
  for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) localStorage.removeItem(key)
}
