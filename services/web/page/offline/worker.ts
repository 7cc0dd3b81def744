import { signal } from '@preact/signals'
import type { NoteToPage, NoteToWorker } from '../../worker/notes.ts'
import { navigate } from '../app/address.ts'
import { workerAddress } from './worker-address.ts'

/** Whether a newer build of the page is ready and waits for a reload, and the person has not closed its notice. */
export const hasUpdate = signal(false)

const { serviceWorker } = navigator as { serviceWorker?: ServiceWorkerContainer }
/** The time that the previous worker has to finish loading files for its tabs. */
const loadingEndsMs = 2_000
let registration: ServiceWorkerRegistration | undefined

/** Registers the service worker, if the browser supports it: with https, or on localhost. */
export async function startWorker(): Promise<void> {
  if (!serviceWorker) return
  registration = await serviceWorker.register(workerAddress('/worker.js'))
  serviceWorker.addEventListener('message', ({ data }: MessageEvent<NoteToPage>) => navigate(data.address))
  registration.addEventListener('updatefound', () => {
    const { installing } = registration!
    installing!.addEventListener('statechange', checkForUpdate)
  })
  checkForUpdate()
}

function checkForUpdate() {
  // Without a controller the worker is the first one, and no update.
  hasUpdate.value = serviceWorker?.controller != null && registration?.waiting != null
}

/** Loads the newer build. */
export function loadUpdate() {
  // Another tab has loaded it already.
  if (!registration?.waiting) return location.reload()
  serviceWorker!.addEventListener('controllerchange', () => location.reload(), { once: true })
  const note: NoteToWorker = { kind: 'take over' }
  registration.waiting.postMessage(note)
  setTimeout(() => void postToWorker({ kind: 'stop loading' }), loadingEndsMs)
}

/** Sends a note to the service worker, which may be from an earlier visit. Does nothing when there is none. */
export async function postToWorker(note: NoteToWorker): Promise<void> {
  // If the worker is known, there is no `await`, because a page that is being closed cannot wait.
  const known = serviceWorker?.controller ?? registration?.active
  const worker = known ?? (await serviceWorker?.getRegistration())?.active
  worker?.postMessage(note)
}
