import type { Channel, Conversation, EventPayload, ListedWebhook, Presence, User, WireEvent } from '@parley/contract'
import type { ListedChannel, ListedConversation } from '../requests/routes.ts'
import { createReadStates } from './read-states.ts'

/** What has to be fetched. */
export type Need = 'everything' | 'readStates' | 'webhooks' | 'presence'

/** What has to be fetched again after an event, because it says too little to go on without. */
type Refetch = Exclude<Need, 'presence'> | null

type KeptConversation = Omit<Conversation, 'otherUser'> & {
  other: { id: string; userName: string }
  lastMessageAt: number
}

export type Lists = ReturnType<typeof createLists>

/**
 * People, channels, conversations, presence, settings and webhooks as one person sees them. `apply` may be given an event a
 * second time: after a listing, all events since before it was asked for are applied to it once more, in order, and the
 * outcome is what a listing after the last of them would say.
 */
export function createLists() {
  let me = ''
  let settings = { name: '' }
  const users = new Map<string, User>()
  /** Of those who have left, too: their messages go on bearing their last names. */
  const names = new Map<string, string>()
  const channels = new Map<string, Channel>()
  const conversations = new Map<string, KeptConversation>()
  /** Of those who were ever here. It may come before the person does, or after: it is told on a way of its own. */
  const presence = new Map<string, Presence>()
  const webhooks = new Map<string, ListedWebhook>()
  const readStates = createReadStates()

  function apply(event: WireEvent): Refetch {
    switch (event.type) {
      case 'NEW_USER':
        users.set(event.payload.id, event.payload)
        names.set(event.payload.id, event.payload.userName)
        return null
      case 'UPDATE_USER':
        return changeUser(event.payload)
      case 'REMOVE_USER':
      case 'USER_EXIT':
        return removeUser(event.payload.id)
      case 'NEW_CHANNEL':
        return addChannel(event.payload)
      case 'UPDATE_CHANNEL':
        if (channels.has(event.payload.id)) channels.set(event.payload.id, event.payload)
        return null
      case 'DELETE_CHANNEL':
        return removeChannel(event.payload.id)
      case 'NEW_CONVERSATION':
        return addConversation(event.payload)
      case 'NEW_MESSAGE': {
        const webhook = webhooks.get(event.payload.author.id.replace(/^webhook:/, ''))
        if (webhook) webhook.lastPostedAt = Math.max(webhook.lastPostedAt ?? 0, event.payload.createdAt)
        readStates.add(event.payload, me)
        return null
      }
      case 'NEW_DM_MESSAGE': {
        const { channelId, createdAt } = event.payload
        if (readStates.add(event.payload, me)) conversations.get(channelId)!.lastMessageAt = createdAt
        return null
      }
      case 'UPDATE_MESSAGE':
      case 'UPDATE_DM_MESSAGE':
        return unless(readStates.change(event.payload, me))
      case 'DELETE_MESSAGE':
      case 'DELETE_DM_MESSAGE':
        return unless(readStates.remove(event.payload))
      case 'READ_UPDATE':
        return unless(readStates.read(event.payload))
      case 'UPDATE_SERVER_SETTINGS':
        settings = { name: event.payload.name }
        return null
      case 'PRESENCE_UPDATE':
        presence.set(event.payload.userId, event.payload)
        return null
      case 'NEW_WEBHOOK':
      case 'UPDATE_WEBHOOK':
        return users.get(me)?.isAdmin ? 'webhooks' : null
      case 'DELETE_WEBHOOK':
        webhooks.delete(event.payload.id)
        return null
      default:
        return null
    }
  }

  /**
   * Whoever becomes an admin, or is one no longer, is told of no channel: everything may be different. Also when the role is
   * known from a listing already: what else is kept may have been fetched before that.
   */
  function changeUser({ id, userName, isAdmin }: EventPayload<'UPDATE_USER'>): Refetch {
    const known = users.get(id)
    names.set(id, userName)
    if (known) users.set(id, { ...known, userName, isAdmin })
    return id === me ? 'everything' : null
  }

  function removeUser(id: string): Refetch {
    users.delete(id)
    presence.delete(id)
    for (const [channelId, channel] of channels) {
      if (!channel.members.includes(id)) continue
      channels.set(channelId, { ...channel, members: channel.members.filter((member) => member !== id) })
    }
    return null
  }

  function addChannel({ lastSeq, ...channel }: EventPayload<'NEW_CHANNEL'>): Refetch {
    const isKnown = channels.has(channel.id)
    channels.set(channel.id, channel)
    if (!isKnown) readStates.set(channel.id, { lastSeq, readSeq: lastSeq, unreadCount: 0, mentionCount: 0 })
    return null
  }

  function removeChannel(id: string): Refetch {
    channels.delete(id)
    readStates.delete(id)
    for (const webhook of webhooks.values()) if (webhook.channelId === id) webhooks.delete(webhook.id)
    return null
  }

  function addConversation({ otherUser, ...conversation }: EventPayload<'NEW_CONVERSATION'>): Refetch {
    const { id, createdAt } = conversation
    if (conversations.has(id)) return null
    conversations.set(id, { ...conversation, other: otherUser, lastMessageAt: createdAt })
    readStates.set(id, { lastSeq: 0, readSeq: 0, unreadCount: 0, mentionCount: 0 })
    return null
  }

  const nameOf = <Person extends { id: string; userName: string }>(person: Person): Person => {
    const userName = names.get(person.id)
    return userName === undefined || userName === person.userName ? person : { ...person, userName }
  }

  return {
    apply,
    nameOf,

    begin(userId: string) {
      me = userId
    },
    setUsers(listed: readonly User[]) {
      users.clear()
      for (const user of listed) {
        users.set(user.id, user)
        names.set(user.id, user.userName)
      }
    },
    setChannels(listed: readonly ListedChannel[]) {
      for (const id of channels.keys()) readStates.delete(id)
      channels.clear()
      for (const { lastSeq, readSeq, unreadCount, mentionCount, ...channel } of listed) {
        channels.set(channel.id, channel)
        readStates.set(channel.id, { lastSeq, readSeq, unreadCount, mentionCount })
      }
    },
    setConversations(listed: readonly ListedConversation[]) {
      for (const id of conversations.keys()) readStates.delete(id)
      conversations.clear()
      for (const { otherUser, lastSeq, readSeq, unreadCount, mentionCount, ...conversation } of listed) {
        conversations.set(conversation.id, { ...conversation, other: otherUser })
        readStates.set(conversation.id, { lastSeq, readSeq, unreadCount, mentionCount })
      }
    },
    setPresence(listed: readonly Presence[]) {
      presence.clear()
      for (const each of listed) presence.set(each.userId, each)
    },
    setWebhooks(listed: readonly ListedWebhook[]) {
      webhooks.clear()
      for (const webhook of listed) webhooks.set(webhook.id, { ...webhook })
    },
    setSettings(name: string) {
      settings = { name }
    },

    me: () => me,
    settings: () => settings,
    users: () => [...users.values()],
    channels: (): ListedChannel[] =>
      [...channels.values()].map((channel) => ({ ...channel, ...readStates.get(channel.id)! })),
    conversations: (): ListedConversation[] =>
      [...conversations.values()]
        .map(({ other, ...conversation }) => ({
          ...conversation,
          otherUser: nameOf(other),
          ...readStates.get(conversation.id)!,
        }))
        .sort((one, next) => next.lastMessageAt - one.lastMessageAt || (one.id < next.id ? 1 : -1)),
    presence: () =>
      [...users.values()].map(({ id, createdAt }): Presence => {
        return presence.get(id) ?? { userId: id, status: 'offline', lastSeen: createdAt }
      }),
    webhooks: () => [...webhooks.values()],
  }
}

const unless = (isExact: boolean): Refetch => (isExact ? null : 'readStates')
