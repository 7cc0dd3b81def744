import type { BuiltFiles } from './built-files.ts'
import type { NoteToWorker } from './notes.ts'
import { createNotifications } from './notifications.ts'
import { createPageCache } from './page-cache.ts'

declare const self: ServiceWorkerGlobalScope
declare const BUILT_FILES: BuiltFiles

const pageCache = createPageCache(BUILT_FILES)
const notifications = createNotifications()

self.addEventListener('install', (event) => event.waitUntil(pageCache.install()))
self.addEventListener('activate', (event) => event.waitUntil(pageCache.removeOld().then(() => self.clients.claim())))
self.addEventListener('fetch', (event) => {
  const response = pageCache.respond(event)
  if (response) event.respondWith(response)
})
self.addEventListener('notificationclick', (event) => event.waitUntil(notifications.open(event.notification)))
self.addEventListener('message', (event) => {
  const note = event.data as NoteToWorker
  switch (note.kind) {
    case 'announce':
      return event.waitUntil(notifications.show(note.announcement))
    case 'snapshot':
      return event.waitUntil(pageCache.cacheSnapshot(note.snapshot))
    case 'signed in':
      return event.waitUntil(pageCache.forgetSnapshotOfOthers(note.userId))
    case 'forget':
      return event.waitUntil(Promise.all([notifications.forget(), pageCache.forget()]))
    case 'cache parts':
      // Without a network, the next start of the page sends this note again.
      return event.waitUntil(pageCache.cacheParts(event).catch(() => {}))
    case 'give page':
      return event.waitUntil(pageCache.replacePreviousPage().finally(() => event.ports[0]!.postMessage(null)))
    case 'take over':
      return event.waitUntil(self.skipWaiting())
  }
})
