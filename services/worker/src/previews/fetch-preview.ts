import { hash } from 'node:crypto'
import type { Database } from '@parley/database'
import { readImageSize } from '@parley/images'
import { type OutboundResponse, type Requester, RequestFailed } from '@parley/requester'
import { type EncodeImage, UnreadableImage } from '../images/encoder.ts'
import { decodePage, lineOf, readPageFacts } from './page-facts.ts'
import { cachePage, type FoundPage, findCachedPage } from './previews.queries.ts'

export interface FetchParts {
  db: Database
  requester: Requester
  encode: EncodeImage
  /** Ends the current requests. */
  stopping?: AbortSignal
  clock: () => number
}

const hourMs = 3_600_000
const usualMs = 24 * hourMs
/** After a failure the site may be available again soon. */
const afterFailureMs = hourMs / 6
/** The side of the square into which an image is scaled down. Previews show small images. */
const boxPixels = 512
const redirects = 3
/** A user agent in the form by which sites recognise programs that create previews. */
const userAgent = 'Mozilla/5.0 (compatible; ParleyBot/1.0; link preview)'

/**
 * Fetches the page or image of a link. Returns null when there is nothing to show. The result is cached for a day,
 * after a failure for ten minutes.
 * @throws when the process that encodes images failed.
 */
export async function fetchPreview(parts: FetchParts, link: string): Promise<FoundPage | null> {
  const { db, clock } = parts
  const url = Object.assign(new URL(link), { hash: '' }).href
  const urlHash = hash('sha256', url, 'buffer')
  const cached = await findCachedPage(db, urlHash, clock())
  if (cached !== undefined) return cached

  let page: FoundPage | null = null
  let lifetimeMs = usualMs
  try {
    const response = await get(parts, url, 'text/html,application/xhtml+xml,image/webp,image/png,image/jpeg')
    if (response.status >= 500 || response.status === 429) lifetimeMs = afterFailureMs
    else if (response.status === 200) page = await readPage(parts, response)
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error
    if (error.reason !== 'forbidden') lifetimeMs = afterFailureMs
  }
  await cachePage(db, urlHash, page, clock() + lifetimeMs)
  return page
}

const get = ({ requester, stopping: signal }: FetchParts, url: string, accept: string) =>
  requester.request({
    url,
    redirects,
    headers: { accept, 'accept-encoding': 'gzip, br', 'user-agent': userAgent },
    ...(signal && { signal }),
  })

async function readPage(parts: FetchParts, response: OutboundResponse): Promise<FoundPage | null> {
  const contentType = response.headers['content-type'] ?? ''
  if (isImage(contentType)) {
    const image = await readImage(parts, response)
    const name = lineOf(decodedName(response.url), 200) ?? new URL(response.url).hostname
    return image && { title: name, description: null, siteName: null, image }
  }
  if (!/^(text\/html|application\/xhtml\+xml)\b/i.test(contentType)) return null

  const { imageUrl, title, ...facts } = readPageFacts(decodePage(response.body, contentType))
  if (title === null) return null
  const { href } = (imageUrl && URL.parse(imageUrl, response.url)) || {}
  return { title, ...facts, image: href === undefined ? null : await fetchImage(parts, href) }
}

/** Fetches the image of a page. When that fails, the page is shown without an image. */
async function fetchImage(parts: FetchParts, url: string) {
  try {
    const response = await get(parts, url, 'image/webp,image/png,image/jpeg')
    return response.status === 200 && isImage(response.headers['content-type'] ?? '')
      ? await readImage(parts, response)
      : null
  } catch (error) {
    if (error instanceof RequestFailed) return null
    throw error
  }
}

const isImage = (contentType: string) => /^image\/(png|jpeg|webp)\b/i.test(contentType)

/**
 * Reads an image and encodes it again, so that only its pixels are kept. Null for an image that cannot be read or is
 * too large.
 */
async function readImage({ encode }: FetchParts, { body, isCut }: OutboundResponse) {
  if (isCut) return null
  try {
    const bytes = await encode(body, { side: boxPixels, fit: 'inside' })
    const size = readImageSize(bytes, 'image/webp')
    return size ? { bytes, ...size } : null
  } catch (error) {
    if (error instanceof UnreadableImage) return null
    throw error
  }
}

/** The last part of the path. */
function decodedName(url: string): string {
  const name = new URL(url).pathname.split('/').at(-1)!
  try {
    return decodeURIComponent(name)
  } catch {
    // The name has a percent sign that is not an encoding.
    return name
  }
}
