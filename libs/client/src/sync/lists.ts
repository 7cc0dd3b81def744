import type { EventPayload, ListedWebhook, Presence, Role, User, WireEvent } from '@parley/contract'
import type { Changes } from '../store/changes.ts'
import { isSame } from '../store/json.ts'
import { removeOthers } from '../store/remove-others.ts'
import { type Me, type Stored, unknownMe } from '../store/store.ts'
import { createPlaces, type WithCurrentName } from './places.ts'

/** The data that must be fetched. `place:<id>` is one channel or conversation. */
export type Need = 'everything' | 'people' | 'webhooks' | 'presence' | `place:${string}`

interface ListsOptions {
  scope: 'all' | 'joined'
  changes: Changes
  /** Called when a person has a new name. */
  onRenamed: (id: string) => void
}

export type Lists = ReturnType<typeof createLists>

/**
 * People, channels, conversations, presence, settings and webhooks as one person sees them. An event may be applied twice: after a
 * listing was fetched, all events since its request are applied to it in order. Then the lists are equal to a listing that is
 * fetched after the last of these events. Items that have not changed stay the same objects.
 */
export function createLists({ scope, changes, onRenamed }: ListsOptions) {
  let me = unknownMe
  /**
   * The person's role according to the events. The lists contain what this role may read. `me` may have a newer role already.
   */
  let role: Role | undefined
  let settings = { name: '' }
  /** All people, or with `joined` only those that were asked for. */
  const users = new Map<string, User>()
  let userList: readonly User[] | undefined
  /** The names of people by id, also of removed people, because their messages show the last name. */
  const names = new Map<string, string>()
  /** Separate from `users`, because the presence of a person may come before or after the person. */
  const presence = new Map<string, Presence>()
  const webhooks = new Map<string, ListedWebhook>()
  const mentionsMe = (mentions: readonly string[]) => {
    const mine = [me.id, '@channel', '@here', ...me.groups.map((id) => `group:${id}`)]
    return mentions.some((mention) => mine.includes(mention))
  }
  const withCurrentName: WithCurrentName = (person) => {
    const userName = names.get(person.id)
    return userName === undefined || userName === person.userName ? person : { ...person, userName }
  }
  const places = createPlaces({ scope, changes, myId: () => me.id, mentionsMe, withCurrentName })

  /** Applies an event. Returns the data that must be fetched because the event does not contain enough. */
  function apply(event: WireEvent): Need | undefined {
    switch (event.type) {
      case 'NEW_USER':
        if (scope === 'all') setUser(event.payload)
        break
      case 'UPDATE_USER':
        return changeUser(event.payload)
      case 'REMOVE_USER':
      case 'USER_EXIT':
        removeUser(event.payload.id)
        break
      case 'NEW_CHANNEL':
        return places.addChannel(event.payload) ? `place:${event.payload.id}` : undefined
      case 'UPDATE_CHANNEL':
        places.changeChannel(event.payload)
        break
      case 'DELETE_CHANNEL':
        removeChannel(event.payload.id)
        break
      case 'NEW_GROUP':
      case 'UPDATE_GROUP':
        return changeGroup(event.payload)
      case 'NEW_CONVERSATION':
        places.addConversation(event.payload)
        break
      case 'NEW_MESSAGE':
        setLastPosted(event.payload)
        places.addMessage(event.payload)
        break
      case 'NEW_DM_MESSAGE':
        places.addMessage(event.payload)
        break
      case 'UPDATE_MESSAGE':
      case 'UPDATE_DM_MESSAGE':
        return fetchUnlessExact(places.changeMessage(event.payload), event.payload.channelId)
      case 'DELETE_MESSAGE':
      case 'DELETE_DM_MESSAGE':
        return fetchUnlessExact(places.removeMessage(event.payload), event.payload.channelId)
      case 'READ_UPDATE':
        return fetchUnlessExact(places.read(event.payload), event.payload.channelId)
      case 'UPDATE_CHANNEL_PREFERENCES':
        places.setPreferences(event.payload)
        break
      case 'UPDATE_SERVER_SETTINGS':
        setSettings(event.payload.name)
        break
      case 'PRESENCE_UPDATE':
        setPresenceOf(event.payload)
        break
      case 'NEW_WEBHOOK':
      case 'UPDATE_WEBHOOK':
        return me.isAdmin && scope === 'all' ? 'webhooks' : undefined
      case 'DELETE_WEBHOOK':
        if (webhooks.delete(event.payload.id)) changes.touch('webhooks')
        break
    }
  }

  function setLastPosted({ author, createdAt }: EventPayload<'NEW_MESSAGE'>) {
    const webhook = webhooks.get(author.id.replace(/^webhook:/, ''))
    if (!webhook || (webhook.lastPostedAt ?? 0) >= createdAt) return
    webhooks.set(webhook.id, { ...webhook, lastPostedAt: createdAt })
    changes.touch('webhooks')
  }

  function setUser(user: User) {
    if (isSame(users.get(user.id), user)) return
    users.set(user.id, user)
    rename(user.id, user.userName)
    touchUser(user.id)
  }

  function touchUser(id: string) {
    userList = undefined
    changes.touch('users')
    changes.touch(`user:${id}`)
    changes.markUnsaved('people', id)
  }

  /** Updates the name of a person in messages and conversations, which contain the name at the time of their fetch. */
  function rename(id: string, userName: string) {
    if (names.get(id) === userName) return
    names.set(id, userName)
    onRenamed(id)
    places.rename(id, userName)
  }

  /**
   * After a change of the signed-in person's role there are no events about channels, so everything is fetched again. This is necessary
   * even if a listing contained the new role already.
   */
  function changeUser({ id, ...changed }: EventPayload<'UPDATE_USER'>): Need | undefined {
    const { userName } = changed
    const user = users.get(id)
    if (user) setUser({ ...user, ...changed })
    else {
      rename(id, userName)
      changes.markUnsaved('people', id)
    }
    if (id !== me.id) return undefined
    setMe({ ...me, ...changed })
    if (changed.role === role && role !== 'guest') return undefined
    role = changed.role
    return 'everything'
  }

  function setMe(user: Me) {
    if (isSame(me, user)) return
    me = user
    changes.touch('me')
  }

  /**
   * When the signed-in person joins or leaves a group, earlier messages that mention it begin or stop to count as mentions. So everything
   * is fetched again. This is necessary even if `me` has the current groups already, because the channels may be older. Before a DELETE_GROUP
   * all members leave the group.
   */
  function changeGroup({ id, joined, left }: EventPayload<'NEW_GROUP'> & { left?: string[] }): Need | undefined {
    const isIn = joined.includes(me.id)
    if (!isIn && !left?.includes(me.id)) return undefined
    const others = me.groups.filter((other) => other !== id)
    setMe({ ...me, groups: isIn ? [...others, id] : others })
    return 'everything'
  }

  function removeUser(id: string) {
    if (users.delete(id)) touchUser(id)
    presence.delete(id)
    places.removeMember(id)
  }

  function removeChannel(id: string) {
    places.removePlace(id)
    for (const webhook of webhooks.values()) {
      if (webhook.channelId === id && webhooks.delete(webhook.id)) changes.touch('webhooks')
    }
  }

  function setSettings(name: string) {
    if (settings.name === name) return
    settings = { name }
    changes.touch('settings')
  }

  function setWebhooks(all: readonly ListedWebhook[]) {
    webhooks.clear()
    for (const webhook of all) webhooks.set(webhook.id, webhook)
    changes.touch('webhooks')
  }

  function setPresenceOf(shown: Presence) {
    if (isSame(presence.get(shown.userId), shown)) return
    presence.set(shown.userId, shown)
    changes.touch('presence')
    changes.touch(`presence:${shown.userId}`)
  }

  function presenceOf(id: string): Presence | undefined {
    const user = users.get(id)
    return presence.get(id) ?? (user && { userId: id, status: 'offline', lastSeen: user.createdAt })
  }

  return {
    ...places,
    apply,
    withCurrentName,
    setMe,
    /** Sets the current role, if it is known. Everything is fetched afterwards. */
    setRole(now: Role | undefined) {
      role = now
    },
    mentionsMe,
    setUser,
    setSettings,
    setPresenceOf,
    removeChannel,

    /** Forgets all people after events were missed, because their data may be outdated. */
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
    setPresence(all: readonly Presence[]) {
      const shown = new Set(all.map(({ userId }) => userId))
      for (const id of presence.keys()) if (!shown.has(id)) presence.delete(id)
      for (const each of all) setPresenceOf(each)
    },
    setWebhooks,

    /** The record of a channel, conversation or person for the store. Undefined when it does not exist any more. */
    toStore(table: 'channels' | 'conversations' | 'people', id: string): unknown {
      if (table === 'people') return users.get(id) ?? (names.has(id) ? { id, userName: names.get(id) } : undefined)
      return places.toStore(id)
    },
    storedIds: () => ({ ...places.storedIds(), people: names.keys() }),
    /** Replaces all data with the stored ones. */
    restore({ state, records }: Stored) {
      setMe(state.me)
      role = state.role
      setSettings(state.settings.name)
      setWebhooks(state.webhooks)
      const people = [...records.people.values()] as User[]
      const isUser = ({ createdAt }: User) => createdAt !== undefined
      // With `joined`, this tab may have asked for other people than the one that has stored them.
      if (scope === 'all') removeOthers(users.keys(), people.filter(isUser), removeUser)
      for (const person of people) {
        if (isUser(person)) setUser(person)
        else rename(person.id, person.userName)
      }
      places.restore(records)
    },

    me: () => me,
    role: () => role,
    settings: () => settings,
    user: (id: string) => users.get(id),
    users: () => {
      userList ??= [...users.values()]
      return userList
    },
    presence: () => [...users.keys()].map((id) => presenceOf(id)!),
    presenceOf,
    webhooks: () => [...webhooks.values()],
  }
}

/** A channel or conversation is fetched again when its counts are not exact any more. */
const fetchUnlessExact = (isExact: boolean, channelId: string): Need | undefined =>
  isExact ? undefined : `place:${channelId}`
