import type { Message, WireEvent } from '@parley/contract'
import type { MessageNotification } from '../../worker/notes.ts'
import { messageAddress } from '../app/address.ts'
import { nameOfPlace } from '../app/places.ts'
import { preferences } from '../app/preferences.ts'
import type { Workspace } from '../app/workspace.ts'
import { namesOfFiles } from '../messages/file-names.ts'
import { postToWorker } from '../offline/worker.ts'
import { t } from '../texts/texts.ts'

const maxCharacters = 200
/** A notification of several messages has a line for each. */
const maxLineCharacters = 100

/** The permission for notifications, or `unsupported` when this browser cannot show any. */
export const notificationPermission = () => ('Notification' in globalThis ? Notification.permission : 'unsupported')

/** Whether the person wants notifications, and this browser shows them. */
export const mayNotify = () => preferences.value.notifications && notificationPermission() === 'granted'

/**
 * Shows notifications of direct messages and mentions, and of all messages of the channels for which the person has chosen that. Returns a
 * function that ends it.
 */
export function notifyOfMessages(workspace: Workspace): () => void {
  return workspace.listen((event) => {
    const message = messageForMe(event, workspace)
    if (message) return notify(workspace, message)
    if (event.type === 'NEW_MESSAGE' && isOfChosenChannel(event.payload, workspace)) {
      notify(workspace, event.payload, { isGrouped: true })
    }
  })
}

/** Shows a notification of a message, if the person wants notifications. With `isGrouped` the messages of a channel share one. */
export function notify(workspace: Workspace, message: Message, { isGrouped = false } = {}): void {
  if (!mayNotify()) return
  const { id, author, channelId, threadId } = message
  const text = textOf(message)
  const place = workspace.place(channelId)
  const name = author.userName
  const channel = place?.kind === 'channel' ? `#${nameOfPlace(place)}` : undefined
  const title = channel ? t('{name} in {channel}', { name, channel }) : name
  const body = beginningOf(text, maxCharacters)
  const address = messageAddress(channelId, id, threadId)
  const announcement: MessageNotification = { id, title, body, address }
  if (isGrouped && channel) {
    const line = [name, beginningOf(text.replace(/\s+/g, ' '), maxLineCharacters)].filter(Boolean).join(': ')
    announcement.group = { id: channelId, title: channel, line }
  }
  // The worker checks whether one of the tabs has the focus.
  void postToWorker({ kind: 'announce', announcement })
}

function beginningOf(text: string, length: number): string {
  const [...characters] = text
  return characters.length > length ? `${characters.slice(0, length).join('')}…` : text
}

/** The text of a message, or the names of its files. */
const textOf = (message: Message): string => message.content || namesOfFiles(message).join(', ')

/**
 * The message of an event, if the person is notified of it wherever it is: a direct message, or a message or reply that mentions them. In a
 * muted channel it must mention them by name, and in a muted conversation there are no notifications.
 */
function messageForMe({ type, payload }: WireEvent, workspace: Workspace): Message | undefined {
  if (type !== 'NEW_MESSAGE' && type !== 'NEW_DM_MESSAGE' && type !== 'NEW_THREAD_REPLY') return undefined
  const message = type === 'NEW_THREAD_REPLY' ? payload.reply : payload
  const { author, mentions, channelId } = message
  if (author.id === workspace.myId) return undefined
  const isDirect = type === 'NEW_DM_MESSAGE'
  const isForMe = workspace.detailsOnServer(channelId)?.isMuted
    ? !isDirect && mentions.includes(workspace.myId)
    : isDirect || notifiesByMention(message, workspace)
  return isForMe ? message : undefined
}

/** Whether a mention notifies the person. In a reply `@channel` and `@here` do not, because most people of the channel do not read it. */
export function notifiesByMention({ mentions, threadId }: Message, workspace: Workspace): boolean {
  return workspace.mentionsMe(threadId ? mentions.filter((mention) => !mention.startsWith('@')) : mentions)
}

/** Whether a message of somebody else is in a channel of whose every message the person is notified. */
function isOfChosenChannel({ author, channelId }: Message, workspace: Workspace): boolean {
  const channel = workspace.detailsOnServer(channelId)
  // The choice stays when the person leaves the channel.
  const isMember = channel !== undefined && 'isMember' in channel && channel.isMember
  return isMember && channel.notifiesOfAll && !channel.isMuted && author.id !== workspace.myId
}
