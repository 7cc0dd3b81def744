import type { Announcement, NoteToPage } from './notes.ts'

declare const self: ServiceWorkerGlobalScope

/** Shows each message once, however many tabs tell of it, and only while nobody looks at any of them. */
export function createNotifications() {
  const announced = new Set<string>()
  /** Grows at each sign-out: what was to be shown before it is not shown after it. */
  let generation = 0

  const windows = () => self.clients.matchAll({ type: 'window', includeUncontrolled: true })

  async function announce({ id, title, body, address }: Announcement) {
    if (announced.has(id)) return
    announced.add(id)
    const before = generation
    const hasFocus = (await windows()).some(({ focused }) => focused)
    // This worker may have been started anew since another tab told of it.
    const isShown = (await self.registration.getNotifications({ tag: id })).length > 0
    if (hasFocus || isShown || before !== generation) return
    await self.registration.showNotification(title, { body, tag: id, icon: '/icons/192.png', data: { address } })
    if (before !== generation) await closeAll()
  }

  const closeAll = (isMeant: (address: string) => boolean = () => true) =>
    self.registration.getNotifications().then((all) => {
      for (const each of all) if (isMeant((each.data as { address: string }).address)) each.close()
    })

  function forget() {
    generation++
    announced.clear()
    return closeAll()
  }

  /** A click shows the message, in a tab that is there already if possible. */
  async function open(notification: Notification) {
    notification.close()
    const { address } = notification.data as { address: string }
    const [tab] = await windows()
    if (!tab) return void (await self.clients.openWindow(address))
    const note: NoteToPage = { kind: 'open', address }
    tab.postMessage(note)
    await tab.focus()
  }

  const seen = (address: string) => closeAll((each) => each.startsWith(`${address}/`))

  return { announce, seen, forget, open }
}
