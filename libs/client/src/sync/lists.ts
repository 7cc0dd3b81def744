import type { EventPayload, ListedWebhook, Message, Role, WireEvent } from '@parley/contract'
import type { Changes } from '../store/changes.ts'
import { isSame } from '../store/json.ts'
import { type Me, type Stored, unknownMe } from '../store/store.ts'
import { createPeople } from './people.ts'
import { createPlaces } from './places.ts'

/** Data that must be fetched. `place:<id>` is one channel or conversation. */
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
   * The role of the person according to the events: the lists contain what this role may read. `me` may have a newer role, from a response.
   */
  let role: Role | undefined
  let settings = { name: '' }
  const webhooks = new Map<string, ListedWebhook>()

  const people = createPeople({
    scope,
    changes,
    onRenamed(id, userName) {
      onRenamed(id)
      places.rename(id, userName)
    },
    onRemoved: (id) => places.removeMember(id),
  })
  const places = createPlaces({
    scope,
    changes,
    myId: () => me.id,
    mentionsMe,
    withCurrentName: people.withCurrentName,
  })

  /** Applies an event. Returns the data that must be fetched because the event does not contain enough. */
  function apply(event: WireEvent): Need | undefined {
    switch (event.type) {
      case 'NEW_USER':
        if (scope === 'all') people.setUser(event.payload)
        break
      case 'UPDATE_USER':
        people.changeUser(event.payload)
        return changeMe(event.payload)
      case 'REMOVE_USER':
      case 'USER_EXIT':
        people.removeUser(event.payload.id)
        break
      case 'PRESENCE_UPDATE':
        people.setPresenceOf(event.payload)
        break
      case 'NEW_GROUP':
      case 'UPDATE_GROUP':
        return changeMyGroups(event.payload)
      case 'NEW_CHANNEL':
        return places.addChannel(event.payload) ? `place:${event.payload.id}` : undefined
      case 'UPDATE_CHANNEL':
        places.changeChannel(event.payload)
        break
      case 'DELETE_CHANNEL':
        removeChannel(event.payload.id)
        break
      case 'NEW_CONVERSATION':
        places.addConversation(event.payload)
        break
      case 'NEW_MESSAGE':
      case 'NEW_DM_MESSAGE':
        setLastPosted(event.payload)
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
      case 'NEW_WEBHOOK':
      case 'UPDATE_WEBHOOK':
        return me.isAdmin && scope === 'all' ? 'webhooks' : undefined
      case 'DELETE_WEBHOOK':
        if (webhooks.delete(event.payload.id)) changes.touch('webhooks')
        break
    }
  }

  function mentionsMe(mentions: readonly string[]): boolean {
    const mine = [me.id, '@channel', '@here', ...me.groups.map((id) => `group:${id}`)]
    return mentions.some((mention) => mine.includes(mention))
  }

  function setMe(user: Me) {
    if (isSame(me, user)) return
    me = user
    changes.touch('me')
  }

  /**
   * Applies a change of a person who may be the signed-in one. There are no events about the channels that another role may read, so
   * everything is fetched again. This is necessary even if `me` has the new role already, because the channels may be older. A guest
   * gets this event, and none of the group, when they join or leave a group (see `changeMyGroups`).
   */
  function changeMe({ id, ...changed }: EventPayload<'UPDATE_USER'>): Need | undefined {
    if (id !== me.id) return undefined
    setMe({ ...me, ...changed })
    if (changed.role === role && role !== 'guest') return undefined
    role = changed.role
    return 'everything'
  }

  /**
   * Applies a change of a group that the signed-in person may join or leave. Earlier messages that mention the group begin or stop to count
   * as mentions, so everything is fetched again. This is necessary even if `me` has the current groups already, because the channels may be
   * older. Before a DELETE_GROUP all members leave the group.
   */
  function changeMyGroups({ id, joined, left }: EventPayload<'NEW_GROUP'> & { left?: string[] }): Need | undefined {
    const isIn = joined.includes(me.id)
    if (!isIn && !left?.includes(me.id)) return undefined
    const others = me.groups.filter((other) => other !== id)
    setMe({ ...me, groups: isIn ? [...others, id] : others })
    return 'everything'
  }

  function setSettings(name: string) {
    if (settings.name === name) return
    settings = { name }
    changes.touch('settings')
  }

  function removeChannel(id: string) {
    places.removePlace(id)
    for (const webhook of webhooks.values()) {
      if (webhook.channelId === id && webhooks.delete(webhook.id)) changes.touch('webhooks')
    }
  }

  function setWebhooks(all: readonly ListedWebhook[]) {
    webhooks.clear()
    for (const webhook of all) webhooks.set(webhook.id, webhook)
    changes.touch('webhooks')
  }

  /** Notes when a webhook has posted, if the author of the message is one. */
  function setLastPosted({ author, createdAt }: Message) {
    const webhook = webhooks.get(author.id.replace(/^webhook:/, ''))
    if (!webhook || (webhook.lastPostedAt ?? 0) >= createdAt) return
    webhooks.set(webhook.id, { ...webhook, lastPostedAt: createdAt })
    changes.touch('webhooks')
  }

  return {
    ...people,
    ...places,
    apply,
    mentionsMe,
    removeChannel,

    me: () => me,
    setMe,
    role: () => role,
    /** Sets the current role, if it is known. Everything is fetched afterwards. */
    setRole(now: Role | undefined) {
      role = now
    },
    settings: () => settings,
    setSettings,
    webhooks: () => [...webhooks.values()],
    setWebhooks,

    /** The record of a channel, conversation or person for the store. Undefined when it does not exist any more. */
    toStore: (table: 'channels' | 'conversations' | 'people', id: string): unknown =>
      (table === 'people' ? people : places).toStore(id),
    storedIds: () => ({ ...people.storedIds(), ...places.storedIds() }),
    /** Replaces all data with the stored ones. */
    restore({ state, records }: Stored) {
      setMe(state.me)
      role = state.role
      setSettings(state.settings.name)
      setWebhooks(state.webhooks)
      people.restore(records)
      places.restore(records)
    },
  }
}

/** A channel or conversation is fetched again when its counts are not exact any more. */
const fetchUnlessExact = (isExact: boolean, channelId: string): Need | undefined =>
  isExact ? undefined : `place:${channelId}`
