import type { EventPayload, Message, ReadState } from '@parley/contract'

/** An unread message that came as an event, so that it is known what its deletion changes. */
interface Unread {
  seq: number
  mentionsMe: boolean
}

interface Tracked {
  state: ReadState
  /** `lastSeq` of the listing. */
  listedSeq: number
  /** What was unread up to there: known as numbers only. */
  counted: Pick<ReadState, 'unreadCount' | 'mentionCount'>
  unread: Map<string, Unread>
}

export type ReadStates = ReturnType<typeof createReadStates>

/**
 * Where the person stands in every channel and conversation. Each answer says whether the counts are still exact; when they
 * are not (a message of before the listing was deleted, edited or partly read) the listing has to be fetched again.
 */
export function createReadStates() {
  const places = new Map<string, Tracked>()

  return {
    get: (channelId: string) => places.get(channelId)?.state,
    has: (channelId: string) => places.has(channelId),
    delete: (channelId: string) => places.delete(channelId),

    /** As a listing, or an event that begins a channel, says. */
    set(channelId: string, { lastSeq, readSeq, unreadCount, mentionCount }: ReadState) {
      const state = { lastSeq, readSeq, unreadCount, mentionCount }
      places.set(channelId, { state, listedSeq: lastSeq, counted: { unreadCount, mentionCount }, unread: new Map() })
    },

    /** True when it is newer than everything known here. */
    add({ id, channelId, seq, author, mentions }: Message, me: string): boolean {
      const place = places.get(channelId)
      if (!place || seq <= place.state.lastSeq) return false
      place.state.lastSeq = seq
      if (author.id === me) readUpTo(place, seq)
      else if (seq > place.state.readSeq) {
        place.unread.set(id, { seq, mentionsMe: isMentioned(mentions, me) })
        count(place)
      }
      return true
    },

    change({ id, channelId, seq, author, mentions }: Message, me: string): boolean {
      const place = places.get(channelId)
      if (!place || author.id === me || seq <= place.state.readSeq) return true
      const mentionsMe = isMentioned(mentions, me)
      if (place.unread.has(id)) {
        place.unread.set(id, { seq, mentionsMe })
        count(place)
        return true
      }
      return !mentionsMe && place.counted.mentionCount === 0
    },

    remove({ id, channelId, seq }: { id: string; channelId: string; seq: number }): boolean {
      const place = places.get(channelId)
      if (!place || seq <= place.state.readSeq) return true
      if (place.unread.delete(id)) {
        count(place)
        return true
      }
      return place.counted.unreadCount === 0
    },

    /** Its counts are not taken over: a deletion that overlapped with it may or may not be in them. */
    read({ channelId, readSeq }: EventPayload<'READ_UPDATE'>): boolean {
      const place = places.get(channelId)
      if (!place || readSeq <= place.state.readSeq) return true
      return readUpTo(place, readSeq)
    },
  }
}

function readUpTo(place: Tracked, seq: number): boolean {
  place.state.readSeq = seq
  for (const [id, unread] of place.unread) if (unread.seq <= seq) place.unread.delete(id)
  if (seq < place.listedSeq) return false
  place.counted = { unreadCount: 0, mentionCount: 0 }
  count(place)
  return true
}

/** What came as events, on top of what the listing counted as long as that is unread. */
function count({ state, counted, unread }: Tracked) {
  state.unreadCount = counted.unreadCount + unread.size
  state.mentionCount = counted.mentionCount + [...unread.values()].filter(({ mentionsMe }) => mentionsMe).length
}

const isMentioned = (mentions: readonly string[], me: string) =>
  mentions.some((mention) => mention === me || mention === '@channel' || mention === '@here')
