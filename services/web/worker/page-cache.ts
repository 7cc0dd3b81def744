import { isPageAddress, isPageFile } from './addresses.ts'
import type { BuiltFiles } from './built-files.ts'
import type { Snapshot } from './notes.ts'
import { rootElement, withSnapshot } from './page-with-snapshot.ts'

declare const self: ServiceWorkerGlobalScope

/** The names of all caches of the page begin with it. It never changes, because a build finds the caches of earlier builds by it. */
const prefix = 'parley.shell:'
const page = '/'
/** The address of the snapshot in the cache. The server has no such file. */
const snapshotFile = '/snapshot.json'
/** An image at the end of the snapshot. It loads lazily, so the browser requests it when it renders the snapshot. */
const paintedImage = '/snapshot-is-painted'
/** The browser gets the rest of the page after this time even if it requests no images. */
const longestPaintMs = 500
/** The server sends the page with `Vary: Accept`. The cached page is the response for every `Accept` header. */
const anyAccept = { ignoreVary: true }

/**
 * The cache of the page and its files. With it the page starts immediately, and without a network. It contains no responses of the API: the
 * store of the sync engine has the data of the person.
 */
export function createPageCache({ build, files, parts }: BuiltFiles) {
  const own = prefix + build
  /** Ends the wait for the paint of a snapshot, by the query of its image. */
  const paints = new Map<string, () => void>()
  let writes: Promise<unknown> = Promise.resolve()

  /** Runs changes of the cache one after the other, so that nothing is written while everything is removed. */
  function inTurn(change: () => Promise<void>): Promise<void> {
    const done = writes.then(change)
    writes = done.catch(() => {})
    return done
  }

  /** @throws TypeError when a file cannot be fetched. Then this build is not installed, and the browser tries again later. */
  async function install() {
    const fetched = await Promise.all(
      files.map(async (file) => {
        const response = await fetch(requestOf(file))
        if (!(await isFile(file, response))) throw new TypeError(`The server did not send ${file}`)
        return [file, response] as const
      }),
    )
    const cache = await caches.open(own)
    await Promise.all(fetched.map(([file, response]) => cache.put(file, response)))
  }

  /** Removes old builds except the previous one, because a tab that still shows it may load further parts. */
  async function removeOld() {
    const others = (await caches.keys()).filter((name) => name.startsWith(prefix) && name !== own)
    await Promise.all(others.slice(0, -1).map((name) => caches.delete(name)))
  }

  /** Gives the previous worker the page of this build. The browser may keep that worker for minutes, and it finds all files in any cache. */
  async function replacePreviousPage() {
    const others = (await caches.keys()).filter((name) => name.startsWith(prefix) && name !== own)
    const response = await caches.match(page, { ...anyAccept, cacheName: own })
    for (const name of others) {
      const cache = await caches.open(name)
      // Without space for the new page, the previous worker fetches it.
      await cache.delete(page, anyAccept)
      if (response) await cache.put(page, response.clone())
    }
  }

  async function forget() {
    const names = (await caches.keys()).filter((name) => name.startsWith(prefix))
    await Promise.all(names.map((name) => caches.delete(name)))
  }

  /** The response to a request for the page or one of its files. Undefined for all other requests. */
  function respond(event: FetchEvent): Promise<Response> | undefined {
    const { method, mode, url } = event.request
    const { origin, pathname, search } = new URL(url)
    if (method !== 'GET' || origin !== self.location.origin) return undefined
    if (pathname === paintedImage) {
      endPaint(search)
      return Promise.resolve(new Response(null, { status: 204 }))
    }
    if (mode === 'navigate') return isPageAddress(pathname) ? pageAt(event, pathname) : undefined
    return isPageFile(pathname) ? cachedOrFetched(event, pathname) : undefined
  }

  /**
   * Caches the scripts that are not cached yet, one after the other. With them every part of the page can be opened without a network, and when
   * the server has a newer build. A sign-out ends it.
   */
  async function cacheParts(event: ExtendableEvent) {
    for (const part of parts) {
      // `caches.open` would create the cache again that a sign-out has removed meanwhile.
      if (await caches.match(part, { ...anyAccept, cacheName: own })) continue
      if (!(await caches.has(own))) return
      await fetchAndCache(event, part)
    }
  }

  async function cachedOrFetched(event: FetchEvent, file: string): Promise<Response> {
    const cached = await caches.match(file, { ...anyAccept, ...(file === page && { cacheName: own }) })
    return cached ?? fetchAndCache(event, file)
  }

  /** The page gets the file before it is in the cache. */
  async function fetchAndCache(event: ExtendableEvent, file: string): Promise<Response> {
    const fetched = await fetch(requestOf(file))
    // Without space for the file, the page gets it nevertheless, and the next request fetches it again.
    if (await isFile(file, fetched)) {
      const copy = fetched.clone()
      event.waitUntil(inTurn(() => cacheFile(file, copy)).catch(reportError))
    }
    return fetched
  }

  /** After a sign-out there is no cache until the page is opened again. */
  async function cacheFile(file: string, response: Response) {
    if (file === page || (await caches.has(own))) await (await caches.open(own)).put(file, response)
  }

  /** The page, with the snapshot if there is one of this address. */
  async function pageAt(event: FetchEvent, pathname: string): Promise<Response> {
    const [response, snapshot] = await Promise.all([cachedOrFetched(event, page), cachedSnapshot()])
    if (snapshot?.pathname !== pathname || !response.ok) return response
    const query = `?${crypto.randomUUID()}`
    const isPainted = new Promise<void>((resolve) => {
      paints.set(query, resolve)
      setTimeout(() => endPaint(query), longestPaintMs)
    })
    return withSnapshot(response, snapshot, paintedImage + query, isPainted)
  }

  function endPaint(query: string) {
    paints.get(query)?.()
    paints.delete(query)
  }

  async function cachedSnapshot(): Promise<Snapshot | undefined> {
    const cached = await caches.match(snapshotFile, { cacheName: own })
    return cached?.json()
  }

  async function cacheSnapshot(snapshot: Snapshot | null) {
    // After a sign-out there is no cache.
    if (!(await caches.has(own))) return
    const cache = await caches.open(own)
    if (snapshot === null) await cache.delete(snapshotFile)
    else await cache.put(snapshotFile, Response.json(snapshot))
  }

  /** Removes the snapshot unless it belongs to this person. */
  async function forgetSnapshotOfOthers(userId: string) {
    const snapshot = await cachedSnapshot()
    if (snapshot && snapshot.userId !== userId) await cacheSnapshot(null)
  }

  return {
    install,
    removeOld,
    replacePreviousPage: () => inTurn(replacePreviousPage),
    forget: () => inTurn(forget),
    cacheParts,
    respond,
    cacheSnapshot: (snapshot: Snapshot | null) => inTurn(() => cacheSnapshot(snapshot)),
    forgetSnapshotOfOthers: (userId: string) => inTurn(() => forgetSnapshotOfOthers(userId)),
  }
}

/** Whether a response is this file, and not a page of a proxy, such as its sign-in. Some proxies send those with the status 200. */
async function isFile(file: string, response: Response): Promise<boolean> {
  if (!response.ok) return false
  if (file === page) return (await response.clone().text()).includes(rootElement)
  return !response.headers.get('content-type')?.startsWith('text/html')
}

/** The request for a file. The names of assets change with their content. For other files the HTTP cache may be outdated. */
function requestOf(file: string): Request {
  if (file.startsWith('/assets/')) return new Request(file)
  if (file !== page) return new Request(file, { cache: 'reload' })
  // The browser itself follows a redirect of the page, for instance to the sign-in of a proxy.
  return new Request(page, { cache: 'reload', headers: { accept: 'text/html' }, redirect: 'manual' })
}
