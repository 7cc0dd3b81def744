import { isPageAddress, isPageFile } from './addresses.ts'
import type { Snapshot } from './notes.ts'

export interface Shell {
  /** Changes with every build of the page. */
  build: string
  /** The addresses that a first view loads. */
  files: readonly string[]
}

declare const self: ServiceWorkerGlobalScope

const prefix = 'parley.shell:'
const page = '/'
/** Where the snapshot is kept among the files of the page. The server has nothing there. */
const snapshotFile = '/snapshot.json'
/** An image at the end of the snapshot. The browser asks for it when it draws the snapshot, because it loads lazily. */
const drawnImage = '/snapshot-is-drawn'
/** A browser that asks for no images gets the rest of the page after so long. */
const mostDrawingMs = 500
/** The server answers the page with `Vary: Accept`. The kept page answers every request for it, whatever it accepts. */
const anyAccept = { ignoreVary: true }

/**
 * The page and its files, kept so that the page starts at once, and without a network. Nothing of the API is kept here: what the
 * person may read lies in the store of the sync engine.
 */
export function createShell({ build, files }: Shell) {
  const own = prefix + build
  let loading = new AbortController()
  /** Ends the wait for a snapshot to be drawn, by the query of its image. */
  const drawing = new Map<string, () => void>()

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
    const { origin, pathname, search } = new URL(url)
    if (method !== 'GET' || origin !== self.location.origin) return undefined
    if (pathname === drawnImage) {
      endDrawing(search)
      return Promise.resolve(new Response(null, { status: 204 }))
    }
    if (mode === 'navigate') return isPageAddress(pathname) ? pageAt(pathname) : undefined
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

  /** With the snapshot, if somebody has left the page at this address. */
  async function pageAt(pathname: string): Promise<Response> {
    const [answer, snapshot] = await Promise.all([keptOrFetched(page), keptSnapshot()])
    if (snapshot?.pathname !== pathname || !answer.ok) return answer
    const query = `?${crypto.randomUUID()}`
    const isDrawn = new Promise<void>((resolve) => {
      drawing.set(query, resolve)
      setTimeout(() => endDrawing(query), mostDrawingMs)
    })
    return withSnapshot(answer, snapshot, drawnImage + query, isDrawn)
  }

  function endDrawing(query: string) {
    drawing.get(query)?.()
    drawing.delete(query)
  }

  async function keptSnapshot(): Promise<Snapshot | undefined> {
    const kept = await caches.match(snapshotFile, { cacheName: own })
    return kept?.json()
  }

  async function keepSnapshot(snapshot: Snapshot | null) {
    // After a sign-out nothing is kept.
    if (!(await caches.has(own))) return
    const cache = await caches.open(own)
    if (snapshot === null) await cache.delete(snapshotFile)
    else await cache.put(snapshotFile, Response.json(snapshot))
  }

  /** Somebody is signed in. What others saw is not shown to them. */
  async function forgetSnapshotOfOthers(userId: string) {
    const snapshot = await keptSnapshot()
    if (snapshot && snapshot.userId !== userId) await keepSnapshot(null)
  }

  function stopLoading() {
    loading.abort()
    loading = new AbortController()
  }

  return { keep, removeOld, forget, answer, keepSnapshot, forgetSnapshotOfOthers, stopLoading }
}

/** Puts what somebody saw before the page itself, for the eyes alone. The page removes it once it has drawn the same. */
async function withSnapshot(
  answer: Response,
  { html, root }: Snapshot,
  image: string,
  isDrawn: Promise<void>,
): Promise<Response> {
  const [head, body] = (await answer.text()).split('<div id="app">')
  const attributes = Object.entries(root).map(([name, value]) => {
    const attribute = name === 'lang' || name === 'dir' ? name : `data-${name}`
    return ` ${attribute}="${value.replace(/[^\w-]/g, '')}"`
  })
  const begin = head!.replace(/<html[^>]*>/, `<html${attributes.join('')}>`)
  const headers = new Headers(answer.headers)
  for (const name of ['content-encoding', 'content-length', 'etag']) headers.delete(name)
  const lastImage = `<img src="${image}" alt="" loading="lazy">`
  const shown = `${begin}<div id="snapshot" inert aria-hidden="true">${html}${lastImage}</div>`
  return new Response(inTwoParts(shown, `<div id="app">${body}`, isDrawn), { headers })
}

/** The browser runs the scripts of a page once it has the end of it. Before that it draws the first part. */
function inTwoParts(first: string, second: string, isDrawn: Promise<void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    async start(parts) {
      parts.enqueue(encoder.encode(first))
      await isDrawn
      parts.enqueue(encoder.encode(second))
      parts.close()
    },
  })
}

/** The names of assets change with their content; for the others the browser's own cache may be too old. */
function requestOf(file: string): Request {
  if (file.startsWith('/assets/')) return new Request(file)
  const headers = new Headers(file === page ? { accept: 'text/html' } : {})
  return new Request(file, { cache: 'reload', headers })
}
