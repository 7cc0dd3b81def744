import { releaseUploads } from '@parley/blobs'
import { invalid } from '@parley/contract'
import type { StoredAttachment, Transaction, UploadRow } from '@parley/database'
import type { MessageBody } from '../messages/messages.schema.ts'
import { insertMessageUploads, lockUploads } from './uploads.queries.ts'

/** What a message has of uploads, as it is stored. */
export interface Files {
  attachments: StoredAttachment[]
  images: string[]
}

interface Holder {
  id: string
  /** Row id of its channel or conversation: images of others are unknown there. */
  channelId: string
  authorId: string
}

/** What a body asks for: names only, each once. */
type Wanted = Pick<MessageBody, 'attachments' | 'images'>

/** Whether a message needs more than the shared send statement does for it. */
export const hasFiles = ({ attachments = [], images = [] }: Wanted) => attachments.length > 0 || images.length > 0

/**
 * Puts uploads on a new message, and answers what is to be stored with it.
 * @throws ApiError 400 when one is none of its author's, or an image of another place.
 */
export async function putUploads(trx: Transaction, message: Holder, wanted: Wanted): Promise<Files> {
  return changeUploads(trx, { ...message, attachments: [], images: [] }, wanted, 0)
}

/**
 * Changes which uploads a message has: what the body does not name stays, what it names is what the message has from then
 * on. Uploads that were on it already may stay whoever sent them. The message must be locked. @throws as above.
 */
export async function changeUploads(
  trx: Transaction,
  message: Holder & Files,
  wanted: Wanted,
  now: number,
): Promise<Files> {
  const held = { file: message.attachments.map(({ filename }) => filename), image: message.images }
  const names = {
    file: each(wanted.attachments?.map(({ filename }) => filename)) ?? held.file,
    image: each(wanted.images) ?? held.image,
  }
  const added = kinds.flatMap((kind) => names[kind].filter((name) => !held[kind].includes(name)))
  const dropped = kinds.flatMap((kind) => held[kind].filter((name) => !names[kind].includes(name)))

  // Together and in order, so that no two edits wait for each other.
  const locked = added.length + dropped.length === 0 ? [] : await lockUploads(trx, [...added, ...dropped])
  const uploads = new Map(locked.map((upload) => [upload.filename, upload]))
  for (const kind of kinds) {
    for (const name of names[kind]) {
      if (!held[kind].includes(name)) requireOwn(uploads.get(name), name, kind, message)
    }
  }
  if (added.length > 0) await insertMessageUploads(trx, message.id, added)
  if (dropped.length > 0) await releaseUploads(trx, [message.id], now, dropped)

  const before = new Map(message.attachments.map((attachment) => [attachment.filename, attachment]))
  return {
    attachments: names.file.map((name) => before.get(name) ?? attachmentOf(uploads.get(name)!)),
    images: names.image,
  }
}

function requireOwn(upload: UploadRow | undefined, name: string, kind: UploadRow['kind'], holder: Holder) {
  const isOwn = upload?.uploadedBy === holder.authorId && upload.kind === kind && upload.storedAt !== null
  if (!isOwn) throw invalid(`${fields[kind]} must name your own uploads, and you have uploaded no ${kind} ${name}`)
  if (kind === 'image' && upload.channelId !== holder.channelId) {
    throw invalid(`The image ${name} was uploaded to another channel or conversation. Please upload it to this one`)
  }
}

const kinds = ['file', 'image'] as const
const fields = { file: 'attachments', image: 'images' }

const each = (names: readonly string[] | undefined) => names && [...new Set(names)]

const attachmentOf = ({ filename, originalName, contentType, size }: UploadRow): StoredAttachment => ({
  filename,
  originalName,
  contentType,
  size,
})
