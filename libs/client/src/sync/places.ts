import type { Channel, ChannelPreferences, Conversation, EventPayload, Message, ReadState } from '@parley/contract'
import { isConversationId, type ListedConversation } from '../requests/routes.ts'
import type { Changes } from '../store/changes.ts'
import { isSame } from '../store/json.ts'
import { removeOthers } from '../store/remove-others.ts'
import type { Stored } from '../store/store.ts'
import type { WithCurrentName } from './people.ts'
import { createReadStates, type StoredReadState } from './read-states.ts'
import { createSortedList, type SortedList } from './sorted-list.ts'

/** A channel in an event or a listing. With `scope=joined`, `members` is missing. */
type ReceivedChannel = Omit<Channel, 'members' | 'memberCount'> &
  Partial<ChannelPreferences> & {
    members?: string[]
    memberCount?: number
    isMember?: boolean
    /** In events of large channels, `joined` and `left` replace `members`. */
    joined?: string[]
    left?: string[]
    /** Only in the response with one channel. */
    groups?: string[]
  }
type ChannelFacts = ReceivedChannel & ChannelPreferences & { memberCount: number; isMember: boolean }
type ConversationFacts = Conversation & ChannelPreferences & { lastMessageAt: number }
type Facts = ChannelFacts | ConversationFacts
/** A channel with the read state of the person. */
export type KnownChannel = ChannelFacts & ReadState
/** A conversation with the read state of the person. */
export type KnownConversation = ListedConversation
type Counted = Pick<KnownChannel, 'isMuted' | 'unreadCount' | 'mentionCount'>

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
  /** The data of all places, without the read states. */
  const facts = new Map<string, Facts>()
  /** All channels with their read states. With `joined` these include channels that the person only looks at. */
  const known = new Map<string, KnownChannel>()
  /** The channels in the person's list. With `joined` only those of which they are a member. */
  const channels = createSortedList<KnownChannel>(byName)
  const conversations = createSortedList<KnownConversation>(byNewestMessage)
  let totals = { unreadCount: 0, mentionCount: 0, unreadPlaces: 0 }
  const readStates = createReadStates({ myId, mentionsMe, onChange: refresh })

  const kindOf = (id: string) => (isConversationId(id) ? 'conversations' : 'channels')
  const listOf = (id: string) => (isConversationId(id) ? conversations : channels) as SortedList<Facts & ReadState>

  /**
   * Combines the data and the read state of a channel or conversation to the item that callers get. The data of a listing contain the read
   * state of that time, and the current one replaces it.
   */
  function refresh(id: string) {
    const place = facts.get(id)!
    const item = { ...place, ...readStates.get(id)! }
    const list = listOf(id)
    const listedBefore = list.get(id)
    const before = known.get(id) ?? listedBefore
    if (before && isSame(before, item)) return
    const isChannel = 'isMember' in item
    if (isChannel) known.set(id, item)
    const isListed = scope === 'all' || !isChannel || item.isMember
    updateTotals(listedBefore, isListed ? item : undefined)
    const isReordered = isListed ? list.set(id, item) : list.remove(id)
    if (isReordered || item.isFavourite !== before?.isFavourite) changes.touch(kindOf(id))
    touchPlace(id)
  }

  function put(place: Facts) {
    facts.set(place.id, place)
    refresh(place.id)
  }

  function touchPlace(id: string) {
    changes.touch(`place:${id}`)
    changes.markUnsaved(kindOf(id), id)
  }

  /** Replaces a place in the totals. In a muted place only mentions count as unread. */
  function updateTotals(before: Counted | undefined, now: Counted | undefined) {
    const next = { ...totals }
    const add = (place: Counted | undefined, sign: 1 | -1) => {
      if (!place) return
      const unreadCount = place.isMuted ? place.mentionCount : place.unreadCount
      next.unreadCount += sign * unreadCount
      next.mentionCount += sign * place.mentionCount
      if (unreadCount > 0) next.unreadPlaces += sign
    }
    add(before, -1)
    add(now, 1)
    if (isSame(next, totals)) return
    totals = next
    changes.touch('unread')
  }

  /** The data of a channel after an event. Members, their number, `isMember` and preferences do not change when the event does not have them. */
  function factsOf({ members, joined = [], left = [], ...channel }: ReceivedChannel): ChannelFacts {
    const before = facts.get(channel.id) as ChannelFacts | undefined
    const others = before?.members?.filter((id) => !left.includes(id) && !joined.includes(id))
    const newMembers = members ?? (others && [...others, ...joined])
    const wasMember = channel.isMember ?? before?.isMember ?? true
    return {
      ...(before ?? noPreferences),
      ...channel,
      ...(scope === 'all' && newMembers && { members: newMembers }),
      memberCount: channel.memberCount ?? newMembers?.length ?? before?.memberCount ?? 0,
      isMember: members?.includes(myId()) ?? (joined.includes(myId()) || (wasMember && !left.includes(myId()))),
    }
  }

  /** Adds or updates a channel. Returns whether it must be fetched. */
  function addChannel({ lastSeq, ...channel }: EventPayload<'NEW_CHANNEL'>) {
    const wasMember = known.get(channel.id)?.isMember
    const next = factsOf(channel)
    // The person has not joined it. `createWatching` fetches such a channel when they look at it.
    if (scope === 'joined' && !next.isMember && !facts.has(channel.id)) return false
    if (!facts.has(channel.id)) {
      readStates.set(channel.id, { lastSeq, readSeq: lastSeq, unreadCount: 0, mentionCount: 0 })
    }
    put(next)
    // With `joined` the person may have read the channel before they joined it. With `all` the event may have no members.
    return scope === 'joined' ? !wasMember : next.members === undefined
  }

  function changeChannel(channel: EventPayload<'UPDATE_CHANNEL'>) {
    if (!facts.has(channel.id)) return
    put(factsOf(channel))
  }

  function addConversation(conversation: EventPayload<'NEW_CONVERSATION'>) {
    const { id, createdAt } = conversation
    if (facts.has(id)) return
    setConversation({ ...conversation, lastMessageAt: createdAt, ...noPreferences, ...noMessages })
  }

  function setChannel({ groups: _, ...channel }: ReceivedChannel & ReadState) {
    readStates.set(channel.id, channel)
    put(factsOf(channel))
  }

  function setConversation(conversation: ListedConversation) {
    readStates.set(conversation.id, conversation)
    put({ ...conversation, otherUser: withCurrentName(conversation.otherUser) })
  }

  function setPreferences({ channelId, ...preferences }: EventPayload<'UPDATE_CHANNEL_PREFERENCES'>) {
    const place = facts.get(channelId)
    if (place) put({ ...place, ...preferences })
  }

  function removePlace(id: string) {
    if (!facts.delete(id)) return
    const list = listOf(id)
    updateTotals(list.get(id), undefined)
    known.delete(id)
    readStates.delete(id)
    if (list.remove(id)) changes.touch(kindOf(id))
    touchPlace(id)
  }

  return {
    addChannel,
    changeChannel,
    removePlace,
    addConversation,
    setChannel,
    setConversation,
    setPreferences,
    setChannels(all: readonly (ReceivedChannel & ReadState)[]) {
      removeOthers(channels.ids(), all, removePlace)
      for (const channel of all) setChannel(channel)
    },
    setConversations(all: readonly ListedConversation[]) {
      removeOthers(conversations.ids(), all, removePlace)
      for (const conversation of all) setConversation(conversation)
    },

    addMessage(message: Message) {
      const { channelId, createdAt } = message
      if (!readStates.add(message) || !isConversationId(channelId)) return
      put({ ...(facts.get(channelId) as ConversationFacts), lastMessageAt: createdAt })
    },
    /** These functions return whether the counts are still exact. */
    changeMessage: readStates.change,
    removeMessage: readStates.remove,
    read: readStates.read,

    /** Updates the name of a person in conversations. */
    rename(id: string, userName: string) {
      for (const place of facts.values()) {
        if (!('otherUser' in place) || place.otherUser.id !== id || place.otherUser.userName === userName) continue
        put({ ...place, otherUser: { ...place.otherUser, userName } })
      }
    },
    /** Removes a person, who was removed from the server, from all channels. */
    removeMember(id: string) {
      for (const place of facts.values()) {
        if (!('members' in place) || !place.members?.includes(id)) continue
        const members = place.members.filter((member) => member !== id)
        put({ ...place, members, memberCount: members.length })
      }
    },

    /** Undefined for a channel that the person has not joined: the next start does not follow it, and other tabs have their own. */
    toStore(id: string): unknown {
      return listOf(id).get(id) && { place: facts.get(id), read: readStates.toStore(id) }
    },
    storedIds: () => ({ channels: channels.ids(), conversations: conversations.ids() }),
    restore(records: Stored['records']) {
      const stored = [...records.channels, ...records.conversations] as [
        string,
        { place: Facts; read: StoredReadState },
      ][]
      removeOthers(
        [...channels.ids(), ...conversations.ids()],
        stored.map(([id]) => ({ id })),
        removePlace,
      )
      for (const [id, { place, read }] of stored) {
        readStates.restore(id, read)
        // An older build has stored fewer preferences.
        put({ ...noPreferences, ...place })
      }
    },

    channel: (id: string) => known.get(id),
    channels: channels.items,
    channelIds: channels.ids,
    conversation: conversations.get,
    conversations: conversations.items,
    conversationIds: conversations.ids,
    totals: () => totals,
  }
}

const noPreferences: ChannelPreferences = { isMuted: false, isFavourite: false, notifiesOfAll: false }
const noMessages: ReadState = { lastSeq: 0, readSeq: 0, unreadCount: 0, mentionCount: 0 }

/** With numbers in their natural order: `channel-2` comes before `channel-10`. Two ids are equal only if their zeros alone differ, which random ids do not. */
const { compare } = new Intl.Collator('en-u-kn')

const byName = (one: KnownChannel, next: KnownChannel) => compare(one.name, next.name) || compare(one.id, next.id)

const byNewestMessage = (one: KnownConversation, next: KnownConversation) =>
  next.lastMessageAt - one.lastMessageAt || compare(next.id, one.id)
