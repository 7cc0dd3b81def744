import type {
  Channel,
  Conversation,
  EventPayload,
  ListedWebhook,
  Presence,
  ReadState,
  User,
  UserView,
  WireEvent,
} from '@parley/contract'
import type { ListedConversation } from '../requests/routes.ts'
import type { Stored } from '../store/store.ts'
import { type Changes, isSame } from './changes.ts'
import { createReadStates, type StoredReadState } from './read-states.ts'
import { createSortedList } from './sorted-list.ts'

/** What has to be fetched; `place:<id>` is one item of the listing of channels or conversations. */
export type Need = 'everything' | 'webhooks' | 'presence' | `place:${string}`

/** A channel as events and listings tell it. Where only joined channels are followed, `members` is left out. */
type ToldChannel = Omit<Channel, 'members'> & { members?: string[]; memberCount?: number; isMember?: boolean }
type ChannelFacts = ToldChannel & { memberCount: number; isMember: boolean }
/** A channel, and where the person stands in it. */
export type KnownChannel = ChannelFacts & ReadState
export type KnownConversation = ListedConversation

export interface ListsOptions {
  scope: 'all' | 'joined'
  changes: Changes
  /** The person has another name from now on. */
  onRenamed: (id: string, userName: string) => void
}

export type Lists = ReturnType<typeof createLists>

/**
 * People, channels, conversations, presence, settings and webhooks as one person sees them. `apply` may be given an event a
 * second time: after a listing, all events since before it was asked for are applied to it once more, in order, and the
 * outcome is what a listing after the last of them would say. What has not changed stays the same object.
 */
export function createLists({ scope, changes, onRenamed }: ListsOptions) {
  let me: UserView = { id: '', userName: '', email: '', isAdmin: false }
  let settings = { name: '' }
  /** All of them, or with `joined` those that were asked for. */
  const users = new Map<string, User>()
  let userList: readonly User[] | undefined
  /** Of those who have left, too: their messages keep their last names. */
  const names = new Map<string, string>()
  const facts = new Map<string, ChannelFacts>()
  /** With `joined` only those of which the person is a member; others that are looked at are known all the same. */
  const listed = createSortedList<KnownChannel>(byName)
  const known = new Map<string, KnownChannel>()
  const conversationFacts = new Map<string, Conversation & { lastMessageAt: number }>()
  const conversations = createSortedList<KnownConversation>(byNewestMessage)
  /** It may come before the person does, or after: it is told on a way of its own. */
  const presence = new Map<string, Presence>()
  const webhooks = new Map<string, ListedWebhook>()
  let totals = { unreadCount: 0, mentionCount: 0, unreadPlaces: 0 }
  const readStates = createReadStates(refresh)

  /** Puts the item of a channel or conversation together anew. */
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
      const was = listed.get(id)
      known.set(id, item as KnownChannel)
      isReordered = isListed ? listed.set(id, item as KnownChannel) : listed.remove(id)
      count(was, isListed ? readState : undefined)
    } else {
      isReordered = conversations.set(id, item as KnownConversation)
      count(before, readState)
    }
    if (isReordered) changes.touch(channel ? 'channels' : 'conversations')
    changes.touch(`place:${id}`)
    changes.save(channel ? 'channels' : 'conversations', id)
  }

  function count(before: ReadState | undefined, now: ReadState | undefined) {
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

  function apply(event: WireEvent): Need | null {
    switch (event.type) {
      case 'NEW_USER':
        if (scope === 'all') setUser(event.payload)
        return null
      case 'UPDATE_USER':
        return changeUser(event.payload)
      case 'REMOVE_USER':
      case 'USER_EXIT':
        return removeUser(event.payload.id)
      case 'NEW_CHANNEL':
        return addChannel(event.payload)
      case 'UPDATE_CHANNEL':
        return changeChannel(event.payload)
      case 'DELETE_CHANNEL':
        return removeChannel(event.payload.id)
      case 'NEW_CONVERSATION':
        return addConversation(event.payload)
      case 'NEW_MESSAGE':
        notePost(event.payload)
        readStates.add(event.payload, me.id)
        return null
      case 'NEW_DM_MESSAGE': {
        const { channelId, createdAt } = event.payload
        const conversation = conversationFacts.get(channelId)
        if (!readStates.add(event.payload, me.id) || !conversation) return null
        conversationFacts.set(channelId, { ...conversation, lastMessageAt: createdAt })
        refresh(channelId)
        return null
      }
      case 'UPDATE_MESSAGE':
      case 'UPDATE_DM_MESSAGE':
        return unless(readStates.change(event.payload, me.id), event.payload.channelId)
      case 'DELETE_MESSAGE':
      case 'DELETE_DM_MESSAGE':
        return unless(readStates.remove(event.payload), event.payload.channelId)
      case 'READ_UPDATE':
        return unless(readStates.read(event.payload), event.payload.channelId)
      case 'UPDATE_SERVER_SETTINGS':
        setSettings(event.payload.name)
        return null
      case 'PRESENCE_UPDATE':
        setPresenceOf(event.payload)
        return null
      case 'NEW_WEBHOOK':
      case 'UPDATE_WEBHOOK':
        return me.isAdmin && scope === 'all' ? 'webhooks' : null
      case 'DELETE_WEBHOOK':
        if (webhooks.delete(event.payload.id)) changes.touch('webhooks')
        return null
      default:
        return null
    }
  }

  function notePost({ author, createdAt }: EventPayload<'NEW_MESSAGE'>) {
    const webhook = webhooks.get(author.id.replace(/^webhook:/, ''))
    if (!webhook || (webhook.lastPostedAt ?? 0) >= createdAt) return
    webhooks.set(webhook.id, { ...webhook, lastPostedAt: createdAt })
    changes.touch('webhooks')
  }

  function setUser(user: User) {
    if (isSame(users.get(user.id), user)) return
    users.set(user.id, user)
    userList = undefined
    rename(user.id, user.userName)
    changes.touch('users')
    changes.touch(`user:${user.id}`)
    changes.save('people', user.id)
  }

  /** Messages and conversations carry the names of when they were fetched. */
  function rename(id: string, userName: string) {
    if (names.get(id) === userName) return
    names.set(id, userName)
    onRenamed(id, userName)
    for (const [conversationId, { otherUser, ...conversation }] of conversationFacts) {
      if (otherUser.id !== id || otherUser.userName === userName) continue
      conversationFacts.set(conversationId, { ...conversation, otherUser: { ...otherUser, userName } })
      refresh(conversationId)
    }
  }

  /**
   * A person who becomes an admin, or is one no longer, is told of no channel: everything may be different. Also when the role is
   * known from a listing already: what else is kept may have been fetched before that.
   */
  function changeUser({ id, userName, isAdmin }: EventPayload<'UPDATE_USER'>): Need | null {
    const user = users.get(id)
    if (user) setUser({ ...user, userName, isAdmin })
    else {
      rename(id, userName)
      changes.save('people', id)
    }
    if (id !== me.id) return null
    setMe({ ...me, userName, isAdmin })
    return 'everything'
  }

  function setMe(user: UserView) {
    if (isSame(me, user)) return
    me = user
    changes.touch('me')
  }

  function removeUser(id: string): null {
    if (users.delete(id)) {
      userList = undefined
      changes.touch('users')
      changes.touch(`user:${id}`)
      changes.save('people', id)
    }
    presence.delete(id)
    for (const channel of facts.values()) {
      if (!channel.members?.includes(id)) continue
      const members = channel.members.filter((member) => member !== id)
      facts.set(channel.id, { ...channel, members, memberCount: members.length })
      refresh(channel.id)
    }
    return null
  }

  /** Of an event that leaves some of it out, what is known stays. */
  function factsOf({ members, ...channel }: ToldChannel): ChannelFacts {
    const before = facts.get(channel.id)
    return {
      ...channel,
      ...(scope === 'all' && members && { members }),
      memberCount: members?.length ?? channel.memberCount ?? before?.memberCount ?? 0,
      isMember: members?.includes(me.id) ?? channel.isMember ?? before?.isMember ?? true,
    }
  }

  function addChannel({ lastSeq, ...channel }: EventPayload<'NEW_CHANNEL'>): Need | null {
    const wasMember = facts.get(channel.id)?.isMember
    const next = factsOf(channel)
    // A public channel that is only looked at comes by the listing of one, with its read state.
    if (scope === 'joined' && !next.isMember && !facts.has(channel.id)) return null
    if (!facts.has(channel.id)) {
      readStates.set(channel.id, { lastSeq, readSeq: lastSeq, unreadCount: 0, mentionCount: 0 })
    }
    facts.set(channel.id, next)
    refresh(channel.id)
    // Whoever joins may have read in it before.
    return scope === 'joined' && !wasMember ? `place:${channel.id}` : null
  }

  function changeChannel(channel: EventPayload<'UPDATE_CHANNEL'>): null {
    if (!facts.has(channel.id)) return null
    facts.set(channel.id, factsOf(channel))
    refresh(channel.id)
    return null
  }

  function removeChannel(id: string): null {
    if (facts.delete(id)) {
      count(listed.get(id), undefined)
      known.delete(id)
      readStates.delete(id)
      if (listed.remove(id)) changes.touch('channels')
      changes.touch(`place:${id}`)
      changes.save('channels', id)
    }
    for (const webhook of webhooks.values()) {
      if (webhook.channelId === id && webhooks.delete(webhook.id)) changes.touch('webhooks')
    }
    return null
  }

  function addConversation(conversation: EventPayload<'NEW_CONVERSATION'>): null {
    const { id, createdAt } = conversation
    if (conversationFacts.has(id)) return null
    setConversation({ ...conversation, lastMessageAt: createdAt, ...nothingRead })
    return null
  }

  function setChannel({ lastSeq, readSeq, unreadCount, mentionCount, ...channel }: ToldChannel & ReadState) {
    facts.set(channel.id, factsOf(channel))
    readStates.set(channel.id, { lastSeq, readSeq, unreadCount, mentionCount })
    refresh(channel.id)
  }

  function setConversation(item: ListedConversation) {
    const { lastSeq, readSeq, unreadCount, mentionCount, ...conversation } = item
    conversationFacts.set(item.id, { ...conversation, otherUser: nameOf(conversation.otherUser) })
    readStates.set(item.id, { lastSeq, readSeq, unreadCount, mentionCount })
    refresh(item.id)
  }

  function removeConversation(id: string) {
    count(conversations.get(id), undefined)
    conversationFacts.delete(id)
    readStates.delete(id)
    conversations.remove(id)
    changes.touch('conversations')
    changes.touch(`place:${id}`)
    changes.save('conversations', id)
  }

  function setSettings(name: string) {
    if (settings.name === name) return
    settings = { name }
    changes.touch('settings')
  }

  function setPresenceOf(shown: Presence) {
    if (isSame(presence.get(shown.userId), shown)) return
    presence.set(shown.userId, shown)
    changes.touch('presence')
    changes.touch(`presence:${shown.userId}`)
  }

  const nameOf = <Person extends { id: string; userName: string }>(person: Person): Person => {
    const userName = names.get(person.id)
    return userName === undefined || userName === person.userName ? person : { ...person, userName }
  }

  /** What is not in a whole listing any more is gone. */
  function removeOthers(kept: Iterable<string>, listing: readonly { id: string }[], remove: (id: string) => void) {
    const ids = new Set(listing.map(({ id }) => id))
    for (const id of [...kept]) if (!ids.has(id)) remove(id)
  }

  const presenceOf = ({ id, createdAt }: User): Presence =>
    presence.get(id) ?? { userId: id, status: 'offline', lastSeen: createdAt }

  return {
    apply,
    nameOf,
    setMe,
    setUser,
    setChannel,
    setConversation,
    setSettings,
    setPresenceOf,
    removeChannel,

    /** Events were missed: what they would have said of people is not known. */
    forgetPeople() {
      names.clear()
      for (const id of users.keys()) changes.touch(`user:${id}`)
      users.clear()
      userList = undefined
    },
    setUsers(all: readonly User[]) {
      removeOthers(users.keys(), all, removeUser)
      for (const user of all) setUser(user)
    },
    setChannels(all: readonly (ToldChannel & ReadState)[]) {
      const ofListing = [...facts.values()].filter(({ isMember }) => scope === 'all' || isMember)
      removeOthers(
        ofListing.map(({ id }) => id),
        all,
        removeChannel,
      )
      for (const channel of all) setChannel(channel)
    },
    setConversations(all: readonly ListedConversation[]) {
      removeOthers(conversationFacts.keys(), all, removeConversation)
      for (const conversation of all) setConversation(conversation)
    },
    setPresence(all: readonly Presence[]) {
      const shown = new Set(all.map(({ userId }) => userId))
      for (const id of presence.keys()) if (!shown.has(id)) presence.delete(id)
      for (const each of all) setPresenceOf(each)
    },
    setWebhooks(all: readonly ListedWebhook[]) {
      webhooks.clear()
      for (const webhook of all) webhooks.set(webhook.id, webhook)
      changes.touch('webhooks')
    },

    /** The record of a channel, conversation or person; undefined when it is gone. */
    toStore(table: 'channels' | 'conversations' | 'people', id: string): unknown {
      if (table === 'people') return users.get(id) ?? (names.has(id) ? { id, userName: names.get(id) } : undefined)
      const place = table === 'channels' ? facts.get(id) : conversationFacts.get(id)
      return place && { place, read: readStates.toStore(id) }
    },
    storedIds: () => ({ channels: facts.keys(), conversations: conversationFacts.keys(), people: names.keys() }),
    /** Replaces everything by what a store has kept. */
    restore({ state, records }: Stored) {
      setMe(state.me)
      setSettings(state.settings.name)
      webhooks.clear()
      for (const webhook of state.webhooks) webhooks.set(webhook.id, webhook)
      const people = [...records.people.values()] as User[]
      const isUser = ({ createdAt }: User) => createdAt !== undefined
      removeOthers(users.keys(), people.filter(isUser), removeUser)
      for (const person of people) {
        if (isUser(person)) setUser(person)
        else rename(person.id, person.userName)
      }
      const channels = [...records.channels.values()] as { place: ChannelFacts; read: StoredReadState }[]
      removeOthers(
        facts.keys(),
        [...records.channels.keys()].map((id) => ({ id })),
        removeChannel,
      )
      for (const { place, read } of channels) {
        facts.set(place.id, place)
        readStates.restore(place.id, read)
        refresh(place.id)
      }
      type StoredConversation = { place: Conversation & { lastMessageAt: number }; read: StoredReadState }
      removeOthers(
        conversationFacts.keys(),
        [...records.conversations.keys()].map((id) => ({ id })),
        removeConversation,
      )
      for (const { place, read } of records.conversations.values() as Iterable<StoredConversation>) {
        conversationFacts.set(place.id, place)
        readStates.restore(place.id, read)
        refresh(place.id)
      }
    },

    me: () => me,
    settings: () => settings,
    user: (id: string) => users.get(id),
    users: () => {
      userList ??= [...users.values()]
      return userList
    },
    channel: (id: string) => known.get(id),
    channels: listed.items,
    channelIds: listed.ids,
    conversation: conversations.get,
    conversations: conversations.items,
    conversationIds: conversations.ids,
    presence: () => [...users.values()].map(presenceOf),
    presenceOf: (id: string) => presence.get(id) ?? (users.has(id) ? presenceOf(users.get(id)!) : undefined),
    webhooks: () => [...webhooks.values()],
    totals: () => totals,
  }
}

const nothingRead: ReadState = { lastSeq: 0, readSeq: 0, unreadCount: 0, mentionCount: 0 }

const unless = (isExact: boolean, channelId: string): Need | null => (isExact ? null : `place:${channelId}`)

const compareText = (one: string, next: string) => (one < next ? -1 : one > next ? 1 : 0)

function byName(one: KnownChannel, next: KnownChannel) {
  return compareText(one.name.toLowerCase(), next.name.toLowerCase()) || compareText(one.id, next.id)
}

function byNewestMessage(one: KnownConversation, next: KnownConversation) {
  return next.lastMessageAt - one.lastMessageAt || compareText(next.id, one.id)
}
