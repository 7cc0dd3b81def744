import { signal } from '@preact/signals'
import type { NoteToPage, NoteToWorker } from '../../worker/notes.ts'
import { navigate } from '../app/address.ts'
import { workerAddress } from './worker-address.ts'

/** Whether a newer build of the page is ready and waits for a reload, and the person has not closed its notice. */
export const hasUpdate = signal(false)

const { serviceWorker } = navigator as { serviceWorker?: ServiceWorkerContainer }
/** Says to the page after a reload that it is the newer build, even if the previous worker still serves it. */
const reloadKey = 'parley.newer-build'
/** After this time a page has requested all files of its first view, so the newer worker can replace the previous one. */
const loadedMs = 2_000
const retryMs = 2_000
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
  if (sessionStorage.getItem(reloadKey)) setTimeout(takeOver, loadedMs)
  else checkForUpdate()
}

/** The notice stays when another tab has loaded the newer build, because this tab still shows the previous one. */
function checkForUpdate() {
  // Without a controller the worker is the first one, and no update.
  if (serviceWorker?.controller && registration?.waiting) hasUpdate.value = true
}

/**
 * Loads the newer build, also from the previous worker: the browser may need minutes to replace it, because it waits until the worker
 * handles no request.
 */
export function loadUpdate() {
  // Another tab has loaded it already.
  if (!registration?.waiting) return location.reload()
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => reload(retryMs)
  const note: NoteToWorker = { kind: 'give page' }
  registration.waiting.postMessage(note, [port2])
}

/** Tries again after longer pauses: Chromium may never respond to a request that comes while it ends the previous worker. */
function reload(pauseMs: number) {
  sessionStorage.setItem(reloadKey, 'true')
  location.reload()
  setTimeout(reload, pauseMs, 2 * pauseMs)
}

function takeOver() {
  sessionStorage.removeItem(reloadKey)
  const note: NoteToWorker = { kind: 'take over' }
  registration!.waiting?.postMessage(note)
}

/** Sends a note to the service worker, which may be from an earlier visit. Does nothing when there is none. */
export async function postToWorker(note: NoteToWorker): Promise<void> {
  // If the worker is known, there is no `await`, because a page that is being closed cannot wait.
  const known = serviceWorker?.controller ?? registration?.active
  const worker = known ?? (await serviceWorker?.getRegistration())?.active
  worker?.postMessage(note)
}
