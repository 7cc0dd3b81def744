import { signal } from '@preact/signals'
import type { NoteToPage, NoteToWorker } from '../../worker/notes.ts'
import { navigate } from '../app/address.ts'
import { workerAddress } from './worker-address.ts'

/** A newer build of the page is there and waits for a reload. */
export const hasUpdate = signal(false)

const { serviceWorker } = navigator as { serviceWorker?: ServiceWorkerContainer }
/** So long the worker before may still load files for its tabs. */
const patienceMs = 2_000
let registration: ServiceWorkerRegistration | undefined

/** Registers the service worker, where the browser has any: on https and on this machine. */
export async function startWorker(): Promise<void> {
  if (!serviceWorker) return
  registration = await serviceWorker.register(workerAddress('/worker.js'))
  serviceWorker.addEventListener('message', ({ data }: MessageEvent<NoteToPage>) => navigate(data.address))
  registration.addEventListener('updatefound', () => {
    const { installing } = registration!
    installing!.addEventListener('statechange', noteUpdate)
  })
  noteUpdate()
}

function noteUpdate() {
  // The first worker has nobody to wait for.
  hasUpdate.value = serviceWorker?.controller != null && registration?.waiting != null
}

/** Shows the newer build. */
export function takeUpdate() {
  // Another tab has taken it already.
  if (!registration?.waiting) return location.reload()
  serviceWorker!.addEventListener('controllerchange', () => location.reload(), { once: true })
  const note: NoteToWorker = { kind: 'take over' }
  registration.waiting.postMessage(note)
  setTimeout(() => void tellWorker({ kind: 'stop loading' }), patienceMs)
}

/** Does nothing where there is no worker. One of an earlier visit may be there before this page has registered it. */
export async function tellWorker(note: NoteToWorker): Promise<void> {
  // A page that is being left waits for nothing.
  const known = serviceWorker?.controller ?? registration?.active
  const worker = known ?? (await serviceWorker?.getRegistration())?.active
  worker?.postMessage(note)
}
