import type { Snapshot } from './notes.ts'

/**
 * Makes the browser render nothing before it has parsed the whole snapshot. Otherwise a slow processor renders two or three beginnings of
 * it first, and lays out the page for each. Chromium waits only for the beginning of the named element, so it is the last one of the
 * snapshot. Firefox does not know this link and ignores it.
 */
const renderTogether = '<link rel="expect" href="#end-of-snapshot" blocking="render">'
/** The root element of the page. */
export const rootElement = '<div id="app">'

/**
 * Inserts the snapshot before the root element of the page, hidden from screen readers. The page removes it after its first render. Without
 * the styles of the page it is not displayed: a browser that needs a layout before they are loaded would search fonts for its texts.
 * The browser requests `image`, which is at the end of the snapshot, when it renders the snapshot. It gets the rest of the page, and with it
 * the scripts, when `isPainted` has resolved.
 */
export async function withSnapshot(
  response: Response,
  { html, late, root }: Snapshot,
  image: string,
  isPainted: Promise<void>,
): Promise<Response> {
  const [head, body] = (await response.text()).split(rootElement)
  const headers = new Headers(response.headers)
  for (const name of ['content-encoding', 'content-length', 'etag']) headers.delete(name)
  // Not the page, but for instance the sign-in of a proxy.
  if (body === undefined) return new Response(head, { headers })
  const attributes = Object.entries(root).map(([name, value]) => {
    const attribute = name === 'lang' || name === 'dir' ? name : `data-${name}`
    return ` ${attribute}="${value.replace(/[^\w-]/g, '')}"`
  })
  const begin = head!
    .replace(/<html[^>]*>/, `<html${attributes.join('')}>`)
    .replace('<head>', `<head>${renderTogether}`)
  const lastImage = `<img id="end-of-snapshot" src="${image}" alt="" loading="lazy">`
  const shown = `${begin}<div id="snapshot" data-late="${late}" hidden inert aria-hidden="true">${html}${lastImage}</div>`
  return new Response(inTwoParts(shown, rootElement + body, isPainted), { headers })
}

/** The body of the page. A browser runs the scripts when it has the whole page, so the second part waits for the paint of the first. */
function inTwoParts(first: string, second: string, isPainted: Promise<void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    async start(parts) {
      parts.enqueue(encoder.encode(first))
      await isPainted
      parts.enqueue(encoder.encode(second))
      parts.close()
    },
  })
}
