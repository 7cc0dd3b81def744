import type { MessageNotification, NoteToPage } from './notes.ts'

declare const self: ServiceWorkerGlobalScope

/** Messages of a group that come within this time of its first one change the notification, and do not alert the person again. */
const groupMs = 10_000
/** The number of messages whose lines a notification of a group has. */
const maxLines = 4
const maxReceived = 10_000

/** TypeScript does not know `renotify`, because not all browsers do. Those alert the person each time. */
type NotificationOptionsOfChromium = NotificationOptions & { renotify: boolean }

/** The data of a notification. `lines` and `alertedAt` are those of a group. */
interface Shown {
  address: string
  lines?: { id: string; line: string }[]
  /** When the person was alerted to it, in epoch milliseconds. */
  alertedAt?: number
}

/**
 * Shows one notification for each message, even if several tabs send it, and none while a tab has the focus. The messages of a group share one, so
 * that a busy channel does not cover the screen.
 */
export function createNotifications() {
  /** The ids of the messages of which this worker has got a notification. */
  const received = new Set<string>()
  /** The messages of groups that are not shown yet, by the id of the group. */
  const waiting = new Map<string, MessageNotification[]>()
  /** Groups are shown one after the other, because each reads what is shown. */
  let shownGroups: Promise<unknown> = Promise.resolve()
  /** Increases at each sign-out, so that a notification from before it is not shown after it. */
  let generation = 0

  const windows = () => self.clients.matchAll({ type: 'window', includeUncontrolled: true })
  const hasFocus = async () => (await windows()).some(({ focused }) => focused)
  const shownWith = (tag: string) => self.registration.getNotifications({ tag })

  async function show(notification: MessageNotification) {
    const { id, group } = notification
    if (received.has(id)) return
    received.add(id)
    if (received.size > maxReceived) received.delete(received.values().next().value!)
    if (!group) return await showAlone(notification)
    const others = waiting.get(group.id)
    if (others) return void others.push(notification)
    waiting.set(group.id, [notification])
    const isShown = shownGroups.then(() => showGroup(group.id))
    shownGroups = isShown.catch(() => {})
    await isShown
  }

  async function showAlone({ id, title, body, address }: MessageNotification) {
    const before = generation
    // This worker may have been restarted since another tab sent the notification.
    const [isLookedAt, shown] = await Promise.all([hasFocus(), shownWith(id)])
    if (isLookedAt || shown.length > 0 || before !== generation) return
    await put(id, title, body, { address })
  }

  /** Shows all messages of a group that have come until now. */
  async function showGroup(groupId: string) {
    const before = generation
    // None after a sign-out.
    const messages = waiting.get(groupId) ?? []
    waiting.delete(groupId)
    const [isLookedAt, [previous]] = await Promise.all([hasFocus(), shownWith(groupId)])
    if (isLookedAt || before !== generation) return
    const { lines: linesBefore = [], alertedAt = 0 } = (previous?.data ?? {}) as Partial<Shown>
    const fresh = messages.filter(({ id }) => !linesBefore.some((each) => each.id === id))
    const newest = fresh.at(-1)
    if (!newest) return
    const now = Date.now()
    const isAlert = now - alertedAt >= groupMs
    const all = [...(isAlert ? [] : linesBefore), ...fresh.map(({ id, group }) => ({ id, line: group!.line }))]
    const lines = all.slice(-maxLines)
    const isAlone = lines.length === 1
    const title = isAlone ? newest.title : newest.group!.title
    const body = isAlone ? newest.body : lines.map(({ line }) => line).join('\n')
    await put(groupId, title, body, { address: newest.address, lines, alertedAt: isAlert ? now : alertedAt }, isAlert)
  }

  /** Replaces a notification with the same tag. Only with `isAlert` the person is alerted again. */
  async function put(tag: string, title: string, body: string, data: Shown, isAlert = false) {
    const before = generation
    const options: NotificationOptionsOfChromium = { body, tag, icon: '/icons/192.png', data, renotify: isAlert }
    await self.registration.showNotification(title, options)
    if (before !== generation) await closeAll()
  }

  async function closeAll() {
    for (const each of await self.registration.getNotifications()) each.close()
  }

  function forget() {
    generation++
    received.clear()
    waiting.clear()
    return closeAll()
  }

  /** Opens the message after a click, in an existing tab if there is one. */
  async function open(notification: Notification) {
    notification.close()
    const { address } = notification.data as Shown
    const [tab] = await windows()
    if (!tab) return void (await self.clients.openWindow(address))
    const note: NoteToPage = { kind: 'open', address }
    tab.postMessage(note)
    await tab.focus()
  }

  return { show, forget, open }
}
