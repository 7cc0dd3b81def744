import type { NoteToWorker } from './notes.ts'
import { createNotifications } from './notifications.ts'
import { createShell, type Shell } from './shell.ts'

declare const self: ServiceWorkerGlobalScope
/** Inserted when the page is built. */
declare const SHELL: Shell

const shell = createShell(SHELL)
const notifications = createNotifications()

self.addEventListener('install', (event) => event.waitUntil(shell.install()))
self.addEventListener('activate', (event) => event.waitUntil(shell.removeOld().then(() => self.clients.claim())))
self.addEventListener('fetch', (event) => {
  const response = shell.respond(event)
  if (response) event.respondWith(response)
})
self.addEventListener('notificationclick', (event) => event.waitUntil(notifications.open(event.notification)))
self.addEventListener('message', (event) => {
  const note = event.data as NoteToWorker
  switch (note.kind) {
    case 'announce':
      return event.waitUntil(notifications.show(note.announcement))
    case 'snapshot':
      return event.waitUntil(shell.cacheSnapshot(note.snapshot))
    case 'signed in':
      return event.waitUntil(shell.forgetSnapshotOfOthers(note.userId))
    case 'forget':
      return event.waitUntil(Promise.all([notifications.forget(), shell.forget()]))
    case 'cache parts':
      // Without a network, the next start of the page sends this note again.
      return event.waitUntil(shell.cacheParts(event).catch(() => {}))
    case 'give page':
      return event.waitUntil(shell.replacePreviousPage().finally(() => event.ports[0]!.postMessage(null)))
    case 'take over':
      return event.waitUntil(self.skipWaiting())
  }
})
