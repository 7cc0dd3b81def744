import type { Announcement, NoteToPage } from './notes.ts'

declare const self: ServiceWorkerGlobalScope

/** Shows one notification for each message, even if several tabs announce it, and none while a tab has the focus. */
export function createNotifications() {
  const announced = new Set<string>()
  /** Increases at each sign-out, so that an announcement from before it is not shown after it. */
  let generation = 0

  const windows = () => self.clients.matchAll({ type: 'window', includeUncontrolled: true })

  async function announce({ id, title, body, address }: Announcement) {
    if (announced.has(id)) return
    announced.add(id)
    const before = generation
    const hasFocus = (await windows()).some(({ focused }) => focused)
    // This worker may have been restarted since another tab announced the message.
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
    announced.clear()
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

  return { announce, forget, open }
}
