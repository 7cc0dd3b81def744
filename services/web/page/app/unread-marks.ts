import type { Message, WireEvent } from '@parley/contract'
import { propertiesOf } from '../ui/stored-value.ts'
import { createStoredMap } from './stored-map.ts'

/** What the person has marked as unread in a channel or conversation. */
interface UnreadMark {
  /** The `seq` of the loaded messages of others, from the marked message on. */
  seqs: readonly number[]
  /** The `seq` up to which the messages were loaded. Of the later ones only their number is known. */
  loadedSeq: number
  /** The `seq` of the newest message at that time. When the person reads a later one, the mark has no effect any more. */
  lastSeq: number
}

interface Marked {
  /** The loaded messages, oldest first. */
  messages: readonly Message[]
  /** Whether there are newer messages that are not loaded. */
  hasNewer: boolean
  lastSeq: number
}

/**
 * The messages that the person has marked as unread, by channel or conversation. A read state of the server never goes back, so the marks
 * are stored in the browser.
 */
export function createUnreadMarks(userId: string) {
  const marks = createStoredMap('unread', userId, isUnreadMark)

  const find = (id: string, readSeq: number) => {
    const mark = marks.all().get(id)
    return mark && readSeq <= mark.lastSeq ? mark : undefined
  }

  return {
    ids: () => marks.all().keys(),
    isMarked: (id: string, { readSeq }: { readSeq: number }) => find(id, readSeq) !== undefined,
    /** The number of messages that are unread only because of the mark: as the server counts, those of others that are not deleted. */
    count(id: string, { readSeq }: { readSeq: number }): number {
      const mark = find(id, readSeq)
      if (!mark) return 0
      const loaded = mark.seqs.filter((seq) => seq <= readSeq).length
      return loaded + Math.max(0, readSeq - mark.loadedSeq)
    },
    /** Marks a message and all later ones as unread. */
    set(id: string, { seq: from }: Message, { messages, hasNewer, lastSeq }: Marked) {
      const seqs = messages.filter(({ seq, author }) => seq >= from && author.id !== userId).map(({ seq }) => seq)
      marks.set(id, { seqs, loadedSeq: hasNewer ? messages.at(-1)!.seq : lastSeq, lastSeq })
    },
    /** Returns the `seq` of the first marked message and removes the mark, because the channel is open now. */
    take(id: string, { readSeq }: { readSeq: number }): number | undefined {
      const mark = find(id, readSeq)
      marks.set(id, undefined)
      return mark?.seqs[0]
    },
    /** A deleted message is not unread any more. */
    apply({ type, payload }: WireEvent) {
      if (type !== 'DELETE_MESSAGE' && type !== 'DELETE_DM_MESSAGE') return
      const mark = marks.all().get(payload.channelId)
      if (!mark?.seqs.includes(payload.seq)) return
      const seqs = mark.seqs.filter((seq) => seq !== payload.seq)
      marks.set(payload.channelId, seqs.length > 0 ? { ...mark, seqs } : undefined)
    },
    close: marks.close,
  }
}

function isUnreadMark(value: unknown): value is UnreadMark {
  const { seqs, loadedSeq, lastSeq } = propertiesOf(value)
  return Array.isArray(seqs) && [...seqs, loadedSeq, lastSeq].every((seq) => typeof seq === 'number')
}
