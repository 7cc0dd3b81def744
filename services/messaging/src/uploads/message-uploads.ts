import { releaseUploads } from '@parley/blobs'
import { type ImageSizes, invalid } from '@parley/contract'
import type { StoredAttachment, Transaction, UploadRow } from '@parley/database'
import type { MessageBody, NewMessageBody } from '../messages.schema.ts'
import { insertMessageUploads, isAnyUsed, lockUploads } from './uploads.queries.ts'

/** The uploads of a message, as they are stored. */
export interface Files {
  attachments: StoredAttachment[]
  images: string[]
  imageSizes: ImageSizes
}

/** The value of the column `image_sizes`. */
export const storedSizes = (sizes: ImageSizes) => (Object.keys(sizes).length === 0 ? null : JSON.stringify(sizes))

interface Holder {
  id: string
  /** Row id of its channel or conversation. A message can only have images of its own channel. */
  channelId: string
  authorId: string
}

/** The uploads that a request body names. */
type Wanted = Pick<MessageBody, 'attachments' | 'images'>

/** Whether a message has uploads. The shared send statement cannot store such a message. */
export const hasFiles = ({ attachments = [], images = [] }: Wanted) => attachments.length > 0 || images.length > 0

/**
 * Attaches uploads to a new message, and returns the fields to store with it. @throws ApiError 400 when the author did
 * not upload one of them, one is an image of another channel or conversation, or `withUnusedFiles` is set and a message has one already.
 */
export function putUploads(
  trx: Transaction,
  message: Holder,
  { withUnusedFiles = false, ...wanted }: Wanted & Pick<NewMessageBody, 'withUnusedFiles'>,
): Promise<Files> {
  const holder = { ...message, attachments: [], images: [], imageSizes: {} }
  // A new message has no uploads that could be released, so the time does not matter.
  return changeUploads(trx, holder, wanted, { now: 0, mustBeUnused: withUnusedFiles })
}

/**
 * Changes the uploads of a message. A field of the body replaces the old one, and a missing field stays as it is. The
 * message may keep its old uploads, whoever uploaded them. With `mustBeUnused`, no other message may have an added one. The message must
 * be locked. @throws as `putUploads`.
 */
export async function changeUploads(
  trx: Transaction,
  message: Holder & Files,
  wanted: Wanted,
  { now, mustBeUnused = false }: { now: number; mustBeUnused?: boolean },
): Promise<Files> {
  const held = { file: message.attachments.map(({ filename }) => filename), image: message.images }
  const names = {
    file: withoutRepeats(wanted.attachments?.map(({ filename }) => filename)) ?? held.file,
    image: withoutRepeats(wanted.images) ?? held.image,
  }
  const added = kinds.flatMap((kind) => names[kind].filter((name) => !held[kind].includes(name)))
  const dropped = kinds.flatMap((kind) => held[kind].filter((name) => !names[kind].includes(name)))

  // One statement locks all of them in the order of their names, so that two edits do not deadlock.
  const locked = added.length + dropped.length === 0 ? [] : await lockUploads(trx, [...added, ...dropped])
  const uploads = new Map(locked.map((upload) => [upload.filename, upload]))
  for (const kind of kinds) {
    for (const name of names[kind]) {
      if (!held[kind].includes(name)) requireOwn(uploads.get(name), name, kind, message)
    }
  }
  if (mustBeUnused && (await isAnyUsed(trx, added))) {
    throw invalid('Another message has one of these files already', 'duplicate')
  }
  if (added.length > 0) await insertMessageUploads(trx, message, added)
  if (dropped.length > 0) await releaseUploads(trx, [message.id], now, dropped)

  const before = new Map(message.attachments.map((attachment) => [attachment.filename, attachment]))
  return {
    attachments: names.file.map((name) => before.get(name) ?? attachmentOf(uploads.get(name)!)),
    images: names.image,
    imageSizes: sizesOf([...names.file, ...names.image], message.imageSizes, uploads),
  }
}

/** The sizes of images: known ones stay, and new ones are those of the uploads, if known. */
function sizesOf(names: readonly string[], before: ImageSizes, uploads: ReadonlyMap<string, UploadRow>): ImageSizes {
  const sizes: ImageSizes = {}
  for (const name of names) {
    const { width = null, height = null } = uploads.get(name) ?? {}
    if (before[name]) sizes[name] = before[name]
    else if (width !== null && height !== null) sizes[name] = [width, height]
  }
  return sizes
}

function requireOwn(upload: UploadRow | undefined, name: string, kind: UploadRow['kind'], holder: Holder) {
  const isOwn = upload?.uploadedBy === holder.authorId && upload.kind === kind && upload.storedAt !== null
  if (!isOwn) throw invalid(`${fields[kind]} must name your own uploads, and you have uploaded no ${kind} ${name}`)
  if (kind === 'image' && upload.channelId !== null && upload.channelId !== holder.channelId) {
    throw invalid(`The image ${name} was uploaded to another channel or conversation. Please upload it to this one`)
  }
}

const kinds = ['file', 'image'] as const
const fields = { file: 'attachments', image: 'images' }

const withoutRepeats = (names: readonly string[] | undefined) => names && [...new Set(names)]

const attachmentOf = ({ filename, originalName, contentType, size }: UploadRow): StoredAttachment => ({
  filename,
  originalName,
  contentType,
  size,
})
