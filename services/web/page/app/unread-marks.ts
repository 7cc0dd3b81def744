import { type Client, requestForPlace } from '@parley/client'
import type { Message, WireEvent } from '@parley/contract'
import { ignoreFailure } from '../ui/retries.ts'
import { propertiesOf } from '../ui/stored-value.ts'
import { createStoredMap } from './stored-map.ts'

/** What the person has marked as unread in a channel or conversation. */
interface UnreadMark {
  /** The `seq` of the known messages of others, from the marked message on. */
  seqs: readonly number[]
  /** Those of them that mention the person. Earlier versions did not store it. */
  mentionSeqs?: readonly number[]
  /** The `seq` up to which the messages are known. Of the later ones only the number is known. */
  loadedSeq: number
  /** The `seq` of the newest message at that time. When the person reads a later one, the mark has no effect any more. */
  lastSeq: number
}

const pageSize = 200

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
export function createUnreadMarks(
  client: Client,
  userId: string,
  mentionsMe: (mentions: readonly string[]) => boolean,
) {
  const marks = createStoredMap('unread', userId, isUnreadMark)
  /** The ids of messages that were deleted in marked channels. A response of `fetchRest` may still have them. */
  const deleted = new Set<string>()

  const find = (id: string, readSeq: number) => {
    const mark = marks.all().get(id)
    return mark && readSeq <= mark.lastSeq ? mark : undefined
  }

  function seqsOfOthers(messages: readonly Message[], from: number) {
    const others = messages.filter(({ seq, author }) => seq >= from && author.id !== userId)
    const mentioning = others.filter(({ mentions }) => mentionsMe(mentions))
    return { seqs: others.map(({ seq }) => seq), mentionSeqs: mentioning.map(({ seq }) => seq) }
  }

  /** Adds the messages after `lastKnown`, up to the largest page. The sidebar shows no larger number exactly. */
  async function fetchRest(id: string, lastKnown: Message) {
    const query = { after: lastKnown.id, limit: pageSize }
    const { messages, hasNewer } = await requestForPlace(client, 'GET /channels/:channelId/messages', id, { query })
    const mark = marks.all().get(id)
    // The person may have set another mark meanwhile, or read everything.
    if (mark?.loadedSeq !== lastKnown.seq) return
    const loadedSeq = hasNewer ? messages.at(-1)!.seq : mark.lastSeq
    const rest = seqsOfOthers(
      messages.filter((message) => !deleted.has(message.id)),
      lastKnown.seq,
    )
    const mentionSeqs = [...(mark.mentionSeqs ?? []), ...rest.mentionSeqs]
    marks.set(id, { ...mark, seqs: [...mark.seqs, ...rest.seqs], mentionSeqs, loadedSeq })
  }

  return {
    ids: () => marks.all().keys(),
    isMarked: (id: string, { readSeq }: { readSeq: number }) => find(id, readSeq) !== undefined,
    /** The number of messages that are unread only because of the mark. Deleted messages and those of the person do not count. */
    count(id: string, { readSeq }: { readSeq: number }): number {
      const mark = find(id, readSeq)
      if (!mark) return 0
      // The server counts the messages after `readSeq`.
      const loaded = mark.seqs.filter((seq) => seq <= readSeq).length
      return loaded + Math.max(0, readSeq - mark.loadedSeq)
    },
    /** The number of those that mention the person. */
    mentionCount: (id: string, { readSeq }: { readSeq: number }): number =>
      find(id, readSeq)?.mentionSeqs?.filter((seq) => seq <= readSeq).length ?? 0,
    /** Marks a message and all later ones as unread. */
    set(id: string, { seq: from }: Message, { messages, hasNewer, lastSeq }: Marked) {
      const last = messages.at(-1)!
      marks.set(id, { ...seqsOfOthers(messages, from), loadedSeq: hasNewer ? last.seq : lastSeq, lastSeq })
      if (hasNewer) fetchRest(id, last).catch(ignoreFailure)
    },
    /** Returns the `seq` of the first marked message and removes the mark, because the channel is open now. */
    take(id: string, { readSeq }: { readSeq: number }): number | undefined {
      const mark = find(id, readSeq)
      marks.set(id, undefined)
      return mark && (mark.seqs[0] ?? mark.loadedSeq + 1)
    },
    /** A deleted message is not unread any more. */
    apply({ type, payload }: WireEvent) {
      if (type !== 'DELETE_MESSAGE' && type !== 'DELETE_DM_MESSAGE') return
      const mark = marks.all().get(payload.channelId)
      if (mark) deleted.add(payload.id)
      if (!mark?.seqs.includes(payload.seq)) return
      const seqs = mark.seqs.filter((seq) => seq !== payload.seq)
      const mentionSeqs = mark.mentionSeqs?.filter((seq) => seq !== payload.seq) ?? []
      const isEmpty = seqs.length === 0 && mark.loadedSeq >= mark.lastSeq
      marks.set(payload.channelId, isEmpty ? undefined : { ...mark, seqs, mentionSeqs })
    },
    close: marks.close,
  }
}

function isUnreadMark(value: unknown): value is UnreadMark {
  const { seqs, mentionSeqs = [], loadedSeq, lastSeq } = propertiesOf(value)
  const isList = Array.isArray(seqs) && Array.isArray(mentionSeqs)
  return isList && [...seqs, ...mentionSeqs, loadedSeq, lastSeq].every((seq) => typeof seq === 'number')
}
