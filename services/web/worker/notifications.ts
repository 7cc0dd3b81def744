import type { MessageNotification, NoteToPage } from './notes.ts'

declare const self: ServiceWorkerGlobalScope

/** Shows one notification for each message, even if several tabs send it, and none while a tab has the focus. */
export function createNotifications() {
  /** The ids of the messages of which this worker has got a notification. */
  const received = new Set<string>()
  /** Increases at each sign-out, so that a notification from before it is not shown after it. */
  let generation = 0

  const windows = () => self.clients.matchAll({ type: 'window', includeUncontrolled: true })

  async function show({ id, title, body, address }: MessageNotification) {
    if (received.has(id)) return
    received.add(id)
    const before = generation
    const hasFocus = (await windows()).some(({ focused }) => focused)
    // This worker may have been restarted since another tab sent the notification.
    const isShown = (await self.registration.getNotifications({ tag: id })).length > 0
    if (hasFocus || isShown || before !== generation) return
    await self.registration.showNotification(title, { body, tag: id, icon: '/icons/192.png', data: { address } })
    if (before !== generation) await closeAll()
  }

  async function closeAll() {
    for (const each of await self.registration.getNotifications()) each.close()
  }

  function forget() {
    generation++
    received.clear()
    return closeAll()
  }

  /** Opens the message after a click, in an existing tab if there is one. */
  async function open(notification: Notification) {
    notification.close()
    const { address } = notification.data as { address: string }
    const [tab] = await windows()
    if (!tab) return void (await self.clients.openWindow(address))
    const note: NoteToPage = { kind: 'open', address }
    tab.postMessage(note)
    await tab.focus()
  }

  return { show, forget, open }
}
