import { hash } from 'node:crypto'
import { findChannel } from '@parley/access'
import { releaseUploads } from '@parley/blobs'
import type { JobData, Preview } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { type Block, type Inline, parseMarkup } from '@parley/markup'
import { findMessage, recordMessageUpdated } from '@parley/messages'
import type { Deps } from '@parley/service'
import { type FetchParts, fetchPreview } from './fetch-preview.ts'
import { type FoundPage, findLinked, insertImage, lockLinked, putImages, updatePreviews } from './previews.queries.ts'

type Parts = FetchParts & Pick<Deps, 'blobs' | 'config'>

interface Found {
  url: string
  page: FoundPage
}

/**
 * Fetches what the links of a message lead to and shows it below the message. May be repeated. A message that was edited meanwhile is left
 * to the job of its edit; one whose author took the previews off stays without.
 */
export async function makePreviews(parts: Parts, { messageId }: JobData<'make-previews'>): Promise<void> {
  const { db, config } = parts
  const message = await findLinked(db, messageId)
  if (!message || isTakenOff(message.previews)) return
  // Links that were previewed before the setting was turned off keep what they show, until the message is edited.
  const links = config.chat.linkPreviews ? linksOf(message.content, new URL(config.auth.appUrl).origin) : []
  const pages = await Promise.all(links.map(async (url) => ({ url, page: await fetchPreview(parts, url) })))
  const found = pages.flatMap(({ url, page }) => (page === null ? [] : { url, page }))
  if (isSame(message.previews ?? [], found)) return

  const previews: Preview[] = []
  for (const each of found) previews.push(await storePreview(parts, message.channelId, each))
  await showPreviews(parts, { ...message, previews })
}

/** See the table: an empty list, unlike none. */
const isTakenOff = (previews: readonly Preview[] | null) => previews?.length === 0

const isSame = (shown: readonly Preview[], found: readonly Found[]) =>
  shown.length === found.length &&
  shown.every(({ url, title, description, siteName, image }, index) => {
    const { page, url: foundUrl } = found[index]!
    const isSameText = title === page.title && description === page.description && siteName === page.siteName
    return url === foundUrl && isSameText && (image === null) === (page.image === null)
  })

/** The image is stored for this message alone, as images are read by who may read their channel. Its row is written before its bytes. */
async function storePreview({ db, blobs, clock }: Parts, channelId: string, { url, page }: Found): Promise<Preview> {
  const { image, ...texts } = page
  if (!image) return { url, ...texts, image }
  const { bytes, width, height } = image
  const filename = `${uuidv7()}.webp`
  const size = bytes.length
  const digest = hash('sha256', bytes, 'buffer')
  await insertImage(db, { filename, channelId, size, width, height, digest }, clock())
  await blobs.put(filename, bytes, { size, contentType: 'image/webp' })
  return { url, ...texts, image: { name: filename, width, height } }
}

interface Shown {
  id: string
  channelId: string
  /** From which the previews were made. */
  content: string
  previews: Preview[]
}

/** Nothing is shown when the message has changed meanwhile: the images are collected. */
const showPreviews = ({ db, clock }: Parts, { id, channelId, content, previews }: Shown): Promise<void> =>
  db.transaction().execute(async (trx) => {
    const channel = await findChannel(trx, channelId, true)
    const message = channel && (await lockLinked(trx, id))
    if (!channel || message?.content !== content || isTakenOff(message.previews)) return

    const before = imagesOf(message.previews ?? [])
    if (before.length > 0) await releaseUploads(trx, [id], clock(), before)
    // The next attempt stores them anew.
    if (!(await putImages(trx, id, imagesOf(previews), clock()))) throw new Error('an image of a preview was collected')
    await updatePreviews(trx, id, message.rev + 1, previews)
    await recordMessageUpdated(trx, channel, await findMessage(trx, id))
  })

const imagesOf = (previews: readonly Preview[]) => previews.flatMap(({ image }) => image?.name ?? [])

/** More links of a message have no preview. */
const mostLinks = 3
const longestUrl = 2_000

/** The first links of a message to other web sites, each once. Links within code are none. */
export function linksOf(content: string, ownOrigin: string): string[] {
  const links = new Set<string>()
  const visitInlines = (inlines: readonly Inline[]) => {
    for (const inline of inlines) {
      if (inline.kind === 'link') links.add(inline.url)
      else if ('children' in inline) visitInlines(inline.children)
    }
  }
  const visit = (blocks: readonly Block[]) => {
    for (const block of blocks) {
      if (block.kind === 'paragraph') visitInlines(block.children)
      else if (block.kind === 'quote') visit(block.children)
      else if (block.kind === 'list') for (const item of block.items) visit(item)
    }
  }
  visit(parseMarkup(content))
  const isElsewhere = (url: string) => /^https?:/i.test(url) && URL.parse(url)?.origin !== ownOrigin
  return [...links].filter((url) => url.length <= longestUrl && isElsewhere(url)).slice(0, mostLinks)
}
