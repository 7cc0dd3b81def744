import type { Message } from '@parley/contract'
import type { Outbox } from '../outbox/outbox.ts'
import type { Lists } from './lists.ts'
import type { OpenChannels, Spot } from './open-channels.ts'
import type { People } from './people.ts'

export interface ViewsParts {
  lists: Lists
  channels: OpenChannels
  outbox: Outbox
  /** Called once, when somebody is asked for. */
  loadPeople: () => Promise<People>
}

/** What a page shows: functions that answer from what is kept, each with the key under which its changes are told. */
export function createViews({ lists, channels, outbox, loadPeople }: ViewsParts) {
  let loading: Promise<People> | undefined
  const people = () => {
    loading ??= loadPeople()
    return loading
  }
  const timeline = (channelId: string, { parentId }: Spot = {}) => channels.get(channelId)?.timeline(parentId)

  return {
    /** The person who is signed in. Key `me`. */
    me: lists.me,
    /** Whether these mentions of a message mean the person: by name, with everybody, or by a group. */
    mentionsMe: lists.mentionsMe,
    /** Key `settings`. */
    settings: lists.settings,
    /** Key `users`: somebody has come, left or changed. */
    users: lists.users,
    /** Key `user:<id>`. */
    user: lists.user,
    /** Asks for those of them who are not known yet. */
    loadUsers: (ids: readonly string[]) => people().then(({ load }) => load(ids)),
    /** By name. Key `channels`: the order or the number has changed; of each channel `place:<id>`. */
    channels: lists.channels,
    channelIds: lists.channelIds,
    /** Key `place:<id>`. */
    channel: lists.channel,
    /** Those with the newest messages first. Key `conversations`, as with channels. */
    conversations: lists.conversations,
    conversationIds: lists.conversationIds,
    /** Key `place:<id>`. */
    conversation: lists.conversation,
    /** Unread messages, mentions, and channels and conversations with any. Key `unread`. */
    totals: lists.totals,
    /** Of everybody in `users`. Key `presence`. */
    presence: lists.presence,
    /** Key `presence:<userId>`. */
    presenceOf: lists.presenceOf,
    /** With `joined`: keeps the presence of these people up to date until the answered function is called. */
    showPresence(ids: readonly string[]): () => void {
      const shown = people().then(({ showPresence }) => showPresence(ids, () => {}))
      return () => void shown.then((end) => end())
    },
    /** Empty for everybody but admins, and with `joined`. Key `webhooks`. */
    webhooks: lists.webhooks,

    /** A message that is kept. Key `message:<id>`. */
    message: (channelId: string, id: string): Message | undefined => channels.get(channelId)?.get(id),
    /**
     * Oldest first and without a hole: the newest ones, or those around `seq`, of the channel or of the thread under `parentId`;
     * undefined when they are not there. Key `messages:<channelId>` or `thread:<parentId>`: one has come or gone.
     */
    messages: (channelId: string, spot: Spot = {}) => timeline(channelId, spot)?.messages(spot.seq),
    /** Newest pin first. Key `pins:<channelId>`. */
    pins: (channelId: string) => channels.get(channelId)?.pins(),
    replies: (channelId: string, parentId: string) => timeline(channelId, { parentId })?.messages(),
    /** False also while it is not known. */
    hasOlder: (channelId: string, spot: Spot = {}) => timeline(channelId, spot)?.hasOlder(spot.seq) === true,
    hasNewer: (channelId: string, spot: Spot = {}) => timeline(channelId, spot)?.hasNewer(spot.seq) === true,

    /** What is still to be sent to a channel or conversation. Key `outbox:<channelId>`; for all of them `outbox`. */
    outbox: outbox.entries,
    outboxSize: outbox.size,
  }
}
