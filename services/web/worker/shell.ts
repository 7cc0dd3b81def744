import { isPageAddress, isPageFile } from './addresses.ts'

export interface Shell {
  /** Changes with every build of the page. */
  build: string
  /** The addresses that a first view loads. */
  files: readonly string[]
}

declare const self: ServiceWorkerGlobalScope

const prefix = 'parley.shell:'
const page = '/'
/** The server answers the page with `Vary: Accept`. The kept page answers every request for it, whatever it accepts. */
const anyAccept = { ignoreVary: true }

/**
 * The page and its files, kept so that the page starts at once, and without a network. Nothing of the API is kept here: what the
 * person may read lies in the store of the sync engine.
 */
export function createShell({ build, files }: Shell) {
  const own = prefix + build
  let loading = new AbortController()

  async function keep() {
    const cache = await caches.open(own)
    await cache.addAll(files.map(requestOf))
  }

  /** The build before stays: a tab that still shows it may load a part of it later. */
  async function removeOld() {
    const others = (await caches.keys()).filter((name) => name.startsWith(prefix) && name !== own)
    await Promise.all(others.slice(0, -1).map((name) => caches.delete(name)))
  }

  async function forget() {
    const names = (await caches.keys()).filter((name) => name.startsWith(prefix))
    await Promise.all(names.map((name) => caches.delete(name)))
  }

  /** Undefined for everything that is not the page's. */
  function answer({ method, mode, url }: Request): Promise<Response> | undefined {
    const { origin, pathname } = new URL(url)
    if (method !== 'GET' || origin !== self.location.origin) return undefined
    if (mode === 'navigate') return isPageAddress(pathname) ? keptOrFetched(page) : undefined
    return isPageFile(pathname) ? keptOrFetched(pathname) : undefined
  }

  async function keptOrFetched(file: string): Promise<Response> {
    const kept = await caches.match(file, { ...anyAccept, ...(file === page && { cacheName: own }) })
    if (kept) return kept
    const fetched = await fetch(requestOf(file), { signal: loading.signal })
    // After a sign-out nothing is kept until the page is opened again.
    if (fetched.ok && (file === page || (await caches.has(own)))) {
      await (await caches.open(own)).put(file, fetched.clone())
    }
    return fetched
  }

  function stopLoading() {
    loading.abort()
    loading = new AbortController()
  }

  return { keep, removeOld, forget, answer, stopLoading }
}

/** The names of assets change with their content; for the others the browser's own cache may be too old. */
function requestOf(file: string): Request {
  if (file.startsWith('/assets/')) return new Request(file)
  const headers = new Headers(file === page ? { accept: 'text/html' } : {})
  return new Request(file, { cache: 'reload', headers })
}
