import type { EventPayload, Message, ReadState } from '@parley/contract'

/** An unread message that came as an event. It is kept so that the counts stay exact when the message is deleted. */
interface Unread {
  seq: number
  mentionsMe: boolean
}

/** A read state, with what is needed to keep its counts exact. Its unread messages are those of `counted` and those of `unread`. */
interface Tracked {
  state: ReadState
  /** `lastSeq` of the listing. */
  listedSeq: number
  /** The counts of unread messages up to `listedSeq`. Only their numbers are known. */
  counted: Pick<ReadState, 'unreadCount' | 'mentionCount'>
  /** The unread messages after `listedSeq`, by id. */
  unread: Map<string, Unread>
  /** The number of messages in `unread` that mention the person. */
  unreadMentions: number
}

/** The form in which the store has it. */
export interface StoredReadState extends Omit<Tracked, 'unread' | 'unreadMentions'> {
  unread: [string, Unread][]
}

interface ReadStatesOptions {
  /** The id of the person. */
  myId: () => string
  /** Whether these mentions include the person. */
  mentionsMe: (mentions: readonly string[]) => boolean
  onChange: (channelId: string) => void
}

/** With more unread messages than this in one channel, only their number is kept. */
const maxUnread = 1_000

/**
 * The read states of all channels and conversations. `change`, `remove` and `read` return whether the counts are still exact. They
 * are not exact when messages from before the listing were deleted, edited, or read only in part. Then the item must be fetched again.
 */
export function createReadStates({ myId, mentionsMe, onChange }: ReadStatesOptions) {
  const tracked = new Map<string, Tracked>()

  /** Sets a read state from a listing, or from the event of a new channel. */
  function set(channelId: string, { lastSeq, readSeq, unreadCount, mentionCount }: ReadState) {
    tracked.set(channelId, {
      state: { lastSeq, readSeq, unreadCount, mentionCount },
      listedSeq: lastSeq,
      counted: { unreadCount, mentionCount },
      unread: new Map(),
      unreadMentions: 0,
    })
  }

  /** Changes the state, and counts anew. */
  function update(channelId: string, track: Tracked, change: Partial<ReadState>) {
    const { counted, unread, unreadMentions } = track
    track.state = {
      ...track.state,
      ...change,
      unreadCount: counted.unreadCount + unread.size,
      mentionCount: counted.mentionCount + unreadMentions,
    }
    onChange(channelId)
  }

  function putUnread(track: Tracked, id: string, unread: Unread) {
    removeUnread(track, id)
    track.unread.set(id, unread)
    if (unread.mentionsMe) track.unreadMentions++
  }

  function removeUnread(track: Tracked, id: string): boolean {
    if (track.unread.get(id)?.mentionsMe) track.unreadMentions--
    return track.unread.delete(id)
  }

  /** Returns whether the counts are still exact: it is not known which of the `counted` messages are after `seq`. */
  function readUpTo(channelId: string, track: Tracked, seq: number, change: Partial<ReadState> = {}): boolean {
    for (const [id, unread] of track.unread) if (unread.seq <= seq) removeUnread(track, id)
    const isExact = seq >= track.listedSeq
    if (isExact) track.counted = { unreadCount: 0, mentionCount: 0 }
    update(channelId, track, { ...change, readSeq: seq })
    return isExact
  }

  return {
    get: (channelId: string) => tracked.get(channelId)?.state,
    delete: (channelId: string) => tracked.delete(channelId),

    set,

    /** Counts a new message. Returns true when it is newer than all known messages. */
    add({ id, channelId, seq, author, mentions }: Message): boolean {
      const track = tracked.get(channelId)
      if (!track || seq <= track.state.lastSeq) return false
      if (author.id === myId()) {
        readUpTo(channelId, track, seq, { lastSeq: seq })
        return true
      }
      if (seq > track.state.readSeq) putUnread(track, id, { seq, mentionsMe: mentionsMe(mentions) })
      update(channelId, track, { lastSeq: seq })
      if (track.unread.size > maxUnread) set(channelId, track.state)
      return true
    },

    /** Applies an edit of a message, which may mention the person now, or not any more. */
    change({ id, channelId, seq, author, mentions }: Message): boolean {
      const track = tracked.get(channelId)
      if (!track || author.id === myId() || seq <= track.state.readSeq) return true
      const isMentioned = mentionsMe(mentions)
      const known = track.unread.get(id)
      // It may be one of the `counted` messages, and then it is not known whether it counts as a mention.
      if (!known) return !isMentioned && track.counted.mentionCount === 0
      if (known.mentionsMe !== isMentioned) {
        putUnread(track, id, { seq, mentionsMe: isMentioned })
        update(channelId, track, {})
      }
      return true
    },

    remove({ id, channelId, seq }: { id: string; channelId: string; seq: number }): boolean {
      const track = tracked.get(channelId)
      if (!track || seq <= track.state.readSeq) return true
      // It may be one of the `counted` messages.
      if (!removeUnread(track, id)) return track.counted.unreadCount === 0
      update(channelId, track, {})
      return true
    },

    /** Ignores the counts of the event, because it is not known whether they include a deletion that happened at the same time. */
    read({ channelId, readSeq }: EventPayload<'READ_UPDATE'>): boolean {
      const track = tracked.get(channelId)
      if (!track || readSeq <= track.state.readSeq) return true
      return readUpTo(channelId, track, readSeq)
    },

    toStore(channelId: string): StoredReadState {
      const { state, listedSeq, counted, unread } = tracked.get(channelId)!
      return { state, listedSeq, counted, unread: [...unread] }
    },
    restore(channelId: string, { unread, ...stored }: StoredReadState) {
      const unreadMentions = unread.filter(([, { mentionsMe }]) => mentionsMe).length
      tracked.set(channelId, { ...stored, unread: new Map(unread), unreadMentions })
    },
  }
}
