import type { Channel, Conversation, EventPayload, Message, ReadState } from '@parley/contract'
import type { ListedConversation } from '../requests/routes.ts'
import type { Changes } from '../store/changes.ts'
import { isSame } from '../store/json.ts'
import type { Stored } from '../store/store.ts'
import { createReadStates, type StoredReadState } from './read-states.ts'
import { createSortedList } from './sorted-list.ts'

/** A channel in an event or a listing. With `scope=joined`, `members` is missing. */
type ReceivedChannel = Omit<Channel, 'members' | 'memberCount'> & {
  members?: string[]
  memberCount?: number
  isMember?: boolean
  /** In events of large channels, `joined` and `left` replace `members`. */
  joined?: string[]
  left?: string[]
  /** Only in the response with one channel. */
  groups?: string[]
}
type ChannelFacts = ReceivedChannel & { memberCount: number; isMember: boolean }
/** A channel with the read state of the person. */
export type KnownChannel = ChannelFacts & ReadState
export type KnownConversation = ListedConversation

/** Returns the person with their current name, if it is known. Messages and conversations have the name at the time of their fetch. */
export type WithCurrentName = <Person extends { id: string; userName: string }>(person: Person) => Person

interface PlacesOptions {
  scope: 'all' | 'joined'
  changes: Changes
  /** The id of the person. */
  myId: () => string
  /** Whether these mentions include the person. */
  mentionsMe: (mentions: readonly string[]) => boolean
  withCurrentName: WithCurrentName
}

/** The places, which are channels and conversations: their data, the person's read states, and the total of unread messages. */
export function createPlaces({ scope, changes, myId, mentionsMe, withCurrentName }: PlacesOptions) {
  const facts = new Map<string, ChannelFacts>()
  /** With `joined` only the channels of which the person is a member. `known` also has other channels that the person looks at. */
  const listed = createSortedList<KnownChannel>(byName)
  const known = new Map<string, KnownChannel>()
  const conversationFacts = new Map<string, Conversation & { lastMessageAt: number }>()
  const conversations = createSortedList<KnownConversation>(byNewestMessage)
  let totals = { unreadCount: 0, mentionCount: 0, unreadPlaces: 0 }
  const readStates = createReadStates({ myId, mentionsMe, onChange: refresh })

  /** Combines data and read state to the item of a channel or conversation. */
  function refresh(id: string) {
    const readState = readStates.get(id)!
    const before = known.get(id) ?? conversations.get(id)
    const channel = facts.get(id)
    const conversation = conversationFacts.get(id)
    const item = { ...(channel ?? conversation!), ...readState }
    if (before && isSame(before, item)) return
    let isReordered: boolean
    if (channel) {
      const isListed = scope === 'all' || channel.isMember
      const listedBefore = listed.get(id)
      known.set(id, item as KnownChannel)
      isReordered = isListed ? listed.set(id, item as KnownChannel) : listed.remove(id)
      updateTotals(listedBefore, isListed ? readState : undefined)
    } else {
      isReordered = conversations.set(id, item as KnownConversation)
      updateTotals(before, readState)
    }
    if (isReordered) changes.touch(channel ? 'channels' : 'conversations')
    changes.touch(`place:${id}`)
    changes.markUnsaved(channel ? 'channels' : 'conversations', id)
  }

  function updateTotals(before: ReadState | undefined, now: ReadState | undefined) {
    const change = (key: 'unreadCount' | 'mentionCount') => (now?.[key] ?? 0) - (before?.[key] ?? 0)
    const isUnread = (state: ReadState | undefined) => Number((state?.unreadCount ?? 0) > 0)
    const next = {
      unreadCount: totals.unreadCount + change('unreadCount'),
      mentionCount: totals.mentionCount + change('mentionCount'),
      unreadPlaces: totals.unreadPlaces + isUnread(now) - isUnread(before),
    }
    if (isSame(next, totals)) return
    totals = next
    changes.touch('unread')
  }

  /** The data of a channel after an event. Members, their number and `isMember` do not change when the event does not have them. */
  function factsOf({ members, joined = [], left = [], ...channel }: ReceivedChannel): ChannelFacts {
    const before = facts.get(channel.id)
    const others = before?.members?.filter((id) => !left.includes(id) && !joined.includes(id))
    const all = members ?? (others && [...others, ...joined])
    const wasMember = channel.isMember ?? before?.isMember ?? true
    return {
      ...channel,
      ...(scope === 'all' && all && { members: all }),
      memberCount: channel.memberCount ?? all?.length ?? before?.memberCount ?? 0,
      isMember: members?.includes(myId()) ?? (joined.includes(myId()) || (wasMember && !left.includes(myId()))),
    }
  }

  /** Adds or updates a channel. Returns whether its read state must be fetched. */
  function addChannel({ lastSeq, ...channel }: EventPayload<'NEW_CHANNEL'>) {
    const wasMember = facts.get(channel.id)?.isMember
    const next = factsOf(channel)
    // `createWatching` fetches public channels that the person has not joined.
    if (scope === 'joined' && !next.isMember && !facts.has(channel.id)) return false
    if (!facts.has(channel.id)) {
      readStates.set(channel.id, { lastSeq, readSeq: lastSeq, unreadCount: 0, mentionCount: 0 })
    }
    facts.set(channel.id, next)
    refresh(channel.id)
    // The person may have read the channel before they joined it.
    return scope === 'joined' ? !wasMember : next.members === undefined
  }

  function changeChannel(channel: EventPayload<'UPDATE_CHANNEL'>) {
    if (!facts.has(channel.id)) return
    facts.set(channel.id, factsOf(channel))
    refresh(channel.id)
  }

  function removeChannel(id: string) {
    if (facts.delete(id)) {
      updateTotals(listed.get(id), undefined)
      known.delete(id)
      readStates.delete(id)
      if (listed.remove(id)) changes.touch('channels')
      changes.touch(`place:${id}`)
      changes.markUnsaved('channels', id)
    }
  }

  function addConversation(conversation: EventPayload<'NEW_CONVERSATION'>) {
    const { id, createdAt } = conversation
    if (conversationFacts.has(id)) return
    setConversation({ ...conversation, lastMessageAt: createdAt, ...nothingRead })
  }

  function setChannel(received: ReceivedChannel & ReadState) {
    const { lastSeq, readSeq, unreadCount, mentionCount, groups: _, ...channel } = received
    facts.set(channel.id, factsOf(channel))
    readStates.set(channel.id, { lastSeq, readSeq, unreadCount, mentionCount })
    refresh(channel.id)
  }

  function setConversation(item: ListedConversation) {
    const { lastSeq, readSeq, unreadCount, mentionCount, ...conversation } = item
    conversationFacts.set(item.id, { ...conversation, otherUser: withCurrentName(conversation.otherUser) })
    readStates.set(item.id, { lastSeq, readSeq, unreadCount, mentionCount })
    refresh(item.id)
  }

  function removeConversation(id: string) {
    updateTotals(conversations.get(id), undefined)
    conversationFacts.delete(id)
    readStates.delete(id)
    conversations.remove(id)
    changes.touch('conversations')
    changes.touch(`place:${id}`)
    changes.markUnsaved('conversations', id)
  }

  function restorePlaces<Place>(
    records: Map<string, unknown>,
    places: Map<string, Place>,
    /** The ids of those that a listing would have. */
    listedIds: readonly string[],
    remove: (id: string) => void,
  ) {
    const stored = [...(records as Map<string, { place: Place; read: StoredReadState }>)]
    removeOthers(
      listedIds,
      stored.map(([id]) => ({ id })),
      remove,
    )
    for (const [id, { place, read }] of stored) {
      places.set(id, place)
      readStates.restore(id, read)
      refresh(id)
    }
  }

  return {
    addChannel,
    changeChannel,
    removeChannel,
    addConversation,
    setChannel,
    setConversation,
    setChannels(all: readonly (ReceivedChannel & ReadState)[]) {
      removeOthers(listed.ids(), all, removeChannel)
      for (const channel of all) setChannel(channel)
    },
    setConversations(all: readonly ListedConversation[]) {
      removeOthers(conversationFacts.keys(), all, removeConversation)
      for (const conversation of all) setConversation(conversation)
    },

    addMessage(message: Message) {
      const { channelId, createdAt } = message
      const conversation = conversationFacts.get(channelId)
      if (!readStates.add(message) || !conversation) return
      conversationFacts.set(channelId, { ...conversation, lastMessageAt: createdAt })
      refresh(channelId)
    },
    /** These functions return whether the counts are still exact. */
    changeMessage: readStates.change,
    removeMessage: readStates.remove,
    read: readStates.read,

    /** Updates the name of a person in conversations. */
    rename(id: string, userName: string) {
      for (const [conversationId, { otherUser, ...conversation }] of conversationFacts) {
        if (otherUser.id !== id || otherUser.userName === userName) continue
        conversationFacts.set(conversationId, { ...conversation, otherUser: { ...otherUser, userName } })
        refresh(conversationId)
      }
    },
    /** Removes a person, who was removed from the server, from all channels. */
    removeMember(id: string) {
      for (const channel of facts.values()) {
        if (!channel.members?.includes(id)) continue
        const members = channel.members.filter((member) => member !== id)
        facts.set(channel.id, { ...channel, members, memberCount: members.length })
        refresh(channel.id)
      }
    },

    /** Undefined for a channel that the person has not joined: the next start does not follow it, and other tabs have their own. */
    toStore(id: string): unknown {
      const place = listed.get(id) ? facts.get(id) : conversationFacts.get(id)
      return place && { place, read: readStates.toStore(id) }
    },
    storedIds: () => ({ channels: listed.ids(), conversations: conversations.ids() }),
    restore(records: Stored['records']) {
      restorePlaces(records.channels, facts, listed.ids(), removeChannel)
      restorePlaces(records.conversations, conversationFacts, conversations.ids(), removeConversation)
    },

    channel: (id: string) => known.get(id),
    channels: listed.items,
    channelIds: listed.ids,
    conversation: conversations.get,
    conversations: conversations.items,
    conversationIds: conversations.ids,
    totals: () => totals,
  }
}

/** Removes the items that are not in a complete listing any more. */
export function removeOthers(kept: Iterable<string>, listing: readonly { id: string }[], remove: (id: string) => void) {
  const ids = new Set(listing.map(({ id }) => id))
  for (const id of [...kept]) if (!ids.has(id)) remove(id)
}

const nothingRead: ReadState = { lastSeq: 0, readSeq: 0, unreadCount: 0, mentionCount: 0 }

const compareText = (one: string, next: string) => (one < next ? -1 : one > next ? 1 : 0)

function byName(one: KnownChannel, next: KnownChannel) {
  return compareText(one.name.toLowerCase(), next.name.toLowerCase()) || compareText(one.id, next.id)
}

function byNewestMessage(one: KnownConversation, next: KnownConversation) {
  return next.lastMessageAt - one.lastMessageAt || compareText(next.id, one.id)
}
