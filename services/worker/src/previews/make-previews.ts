import { hash } from 'node:crypto'
import { findChannel } from '@parley/access'
import { releaseUploads } from '@parley/blobs'
import type { JobData, Preview } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { listLinks } from '@parley/markup'
import { findMessage, recordMessageUpdated } from '@parley/messages'
import type { Deps } from '@parley/service'
import { type FetchParts, fetchPreview } from './fetch-preview.ts'
import {
  attachImages,
  type FoundPage,
  findLinked,
  insertImage,
  lockLinked,
  updatePreviews,
} from './previews.queries.ts'

type Parts = FetchParts & Pick<Deps, 'blobs' | 'config'>

interface Found {
  url: string
  page: FoundPage
}

/**
 * Fetches the pages of a message's links and adds their previews to the message. It may be repeated. If the message was
 * edited meanwhile, the job of the edit adds the previews. If the author removed the previews, none are added.
 */
export async function makePreviews(parts: Parts, { messageId }: JobData<'make-previews'>): Promise<void> {
  const { db, config } = parts
  const message = await findLinked(db, messageId)
  if (!message || areRemoved(message.previews)) return
  // Previews that were added before the setting was turned off stay until the message is edited.
  const links = config.chat.linkPreviews ? linksOf(message.content, new URL(config.auth.appUrl).origin) : []
  const pages = await Promise.all(links.map(async (url) => ({ url, page: await fetchPreview(parts, url) })))
  const found = pages.flatMap(({ url, page }) => (page === null ? [] : { url, page }))
  if (isSame(message.previews ?? [], found)) return

  const previews: Preview[] = []
  for (const each of found) previews.push(await storePreview(parts, message.channelId, each))
  await showPreviews(parts, { ...message, previews })
}

/** Whether the author removed the previews: the list is empty, and not null. */
const areRemoved = (previews: readonly Preview[] | null) => previews?.length === 0

const isSame = (shown: readonly Preview[], found: readonly Found[]) =>
  shown.length === found.length &&
  shown.every(({ url, title, description, siteName, image }, index) => {
    const { page, url: foundUrl } = found[index]!
    const isSameText = title === page.title && description === page.description && siteName === page.siteName
    return url === foundUrl && isSameText && (image === null) === (page.image === null)
  })

/**
 * Stores the image for this message only, because the right to read an image follows from its channel. Its row is
 * written before its bytes.
 */
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
  /** The content from which the previews were created. */
  content: string
  previews: Preview[]
}

/** Adds the previews, unless the message has changed meanwhile. The clean-up then deletes the images. */
const showPreviews = ({ db, clock }: Parts, { id, channelId, content, previews }: Shown): Promise<void> =>
  db.transaction().execute(async (trx) => {
    const channel = await findChannel(trx, channelId, { lock: true })
    const message = channel && (await lockLinked(trx, id))
    if (!channel || message?.content !== content || areRemoved(message.previews)) return

    const before = imagesOf(message.previews ?? [])
    if (before.length > 0) await releaseUploads(trx, [id], clock(), before)
    // The next attempt stores them again.
    if (!(await attachImages(trx, id, imagesOf(previews), clock())))
      throw new Error('the clean-up has deleted an image of a preview')
    await updatePreviews(trx, id, message.rev + 1, previews)
    await recordMessageUpdated(trx, channel, await findMessage(trx, id))
  })

const imagesOf = (previews: readonly Preview[]) => previews.flatMap(({ image }) => image?.name ?? [])

/** Further links of a message get no preview. */
const maxLinks = 3
const longestUrl = 2_000

/** The first links of a message to other web sites. */
export function linksOf(content: string, ownOrigin: string): string[] {
  const isElsewhere = (url: string) => /^https?:/i.test(url) && URL.parse(url)?.origin !== ownOrigin
  return listLinks(content)
    .filter((url) => url.length <= longestUrl && isElsewhere(url))
    .slice(0, maxLinks)
}
