import type { Message, WireEvent } from '@parley/contract'
import { messageAddress } from '../app/address.ts'
import { nameOfPlace } from '../app/places.ts'
import { preferences } from '../app/preferences.ts'
import type { Workspace } from '../app/workspace.ts'
import { postToWorker } from '../offline/worker.ts'
import { t } from '../texts/texts.ts'

const maxCharacters = 200

/** The permission for notifications, or `unsupported` when this browser cannot show any. */
export const notificationPermission = () => ('Notification' in globalThis ? Notification.permission : 'unsupported')

/** Whether the person wants notifications, and this browser shows them. */
export const mayNotify = () => preferences.value.notifications && notificationPermission() === 'granted'

/** Shows notifications of direct messages and mentions. Returns a function that ends it. */
export function notifyOfMessages(workspace: Workspace): () => void {
  return workspace.listen((event) => {
    const message = notifiedMessage(event, workspace)
    if (message) notify(workspace, message)
  })
}

/** Shows a notification of a message, if the person wants notifications. */
export function notify(workspace: Workspace, message: Message): void {
  if (!mayNotify()) return
  const { id, author, channelId, threadId } = message
  const place = workspace.place(channelId)
  const name = author.userName
  const title = place?.kind === 'channel' ? t('{name} in {channel}', { name, channel: `#${nameOfPlace(place)}` }) : name
  const text = textOf(message)
  const [...characters] = text
  const body = characters.length > maxCharacters ? `${characters.slice(0, maxCharacters).join('')}…` : text
  const address = messageAddress(channelId, id, threadId)
  // The worker checks whether one of the tabs has the focus.
  void postToWorker({ kind: 'announce', announcement: { id, title, body, address } })
}

/** The name of an image without the id in front of it, as below the message. With an import, the first view would be larger. */
const nameOf = (filename: string) => filename.replace(/^[0-9a-f-]{36}-/, '')

/** The text of a message, or the names of its files. */
const textOf = ({ content, images, attachments }: Message): string =>
  content || [...images.map(nameOf), ...attachments.map(({ originalName }) => originalName)].join(', ')

/**
 * The message of an event, if the person is notified of it: a direct message, or a message or reply that mentions them. In a muted channel
 * it must mention them by name, and in a muted conversation there are no notifications.
 */
function notifiedMessage({ type, payload }: WireEvent, workspace: Workspace): Message | undefined {
  if (type !== 'NEW_MESSAGE' && type !== 'NEW_DM_MESSAGE' && type !== 'NEW_THREAD_REPLY') return undefined
  const message = type === 'NEW_THREAD_REPLY' ? payload.reply : payload
  const { author, mentions, channelId } = message
  if (author.id === workspace.myId) return undefined
  const isDirect = type === 'NEW_DM_MESSAGE'
  const isForMe = workspace.known(channelId)?.isMuted
    ? !isDirect && mentions.includes(workspace.myId)
    : isDirect || workspace.mentionsMe(mentions)
  return isForMe ? message : undefined
}
