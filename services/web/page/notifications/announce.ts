import type { Message, WireEvent } from '@parley/contract'
import { messageAddress } from '../app/address.ts'
import { preferences } from '../app/preferences.ts'
import { nameOfPlace, type Workspace } from '../app/workspace.ts'
import { postToWorker } from '../offline/worker.ts'
import { t } from '../texts/texts.ts'

const maxCharacters = 200

/** The permission for notifications, or `unsupported` when this browser cannot show any. */
export const notificationPermission = () => ('Notification' in globalThis ? Notification.permission : 'unsupported')

/** Whether the person wants notifications, and this browser shows them. */
export const mayNotify = () => preferences.value.notifications && notificationPermission() === 'granted'

/** Announces direct messages and mentions as notifications. Returns a function that ends it. */
export function announceMessages(workspace: Workspace): () => void {
  return workspace.listen((event) => {
    const message = announcedMessage(event, workspace)
    if (message) announce(workspace, message)
  })
}

/** Shows a notification of a message, if the person wants notifications. */
export function announce(workspace: Workspace, { id, author, channelId, threadId, content }: Message): void {
  if (!mayNotify()) return
  const place = workspace.place(channelId)
  const name = author.userName
  const title = place?.kind === 'channel' ? t('{name} in {channel}', { name, channel: `#${nameOfPlace(place)}` }) : name
  const [...characters] = content
  const body = characters.length > maxCharacters ? `${characters.slice(0, maxCharacters).join('')}…` : content
  const address = messageAddress(channelId, id, threadId)
  // The worker checks whether one of the tabs has the focus.
  void postToWorker({ kind: 'announce', announcement: { id, title, body, address } })
}

/**
 * Direct messages, and messages and replies that mention the person. In a muted channel the message must mention them by name, and in a
 * muted conversation nothing is announced.
 */
function announcedMessage({ type, payload }: WireEvent, workspace: Workspace): Message | undefined {
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
