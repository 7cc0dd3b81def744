import { findReadable, wireChannelId } from '@parley/access'
import { fileExtensions, imageExtensions, limits } from '@parley/contract'
import { type Reader, type UploadRow, uuidv7 } from '@parley/database'
import { writeUploadPass } from '@parley/identity'
import { slackRefusal } from '@parley/service'
import { imagePath } from '../api-paths.ts'
import { post } from './chat.ts'
import { readMessageContent } from './message-content.ts'
import { jsonOf, requireWriteScope, type SlackCall, textOf } from './slack-call.ts'

const passMs = 30 * 60_000
const allowedNames = `filename must end with one of: ${[...imageExtensions, ...fileExtensions].map((each) => `.${each}`).join(', ')}`

/** `files.getUploadURLExternal`: returns an address of messaging for the bytes. The pass in the address permits the upload. */
export async function getUploadUrl(call: SlackCall) {
  requireWriteScope(call)
  const { deps, args, token } = call
  const originalName = textOf(args, 'filename', 'missing_argument')
  const size = Number(textOf(args, 'length', 'missing_argument'))
  if (!Number.isSafeInteger(size) || size <= 0)
    throw slackRefusal('missing_argument', 'length must be the number of bytes, at least 1')
  if (originalName.length > 4_096) throw slackRefusal('invalid_arguments', 'filename is too long')
  const extension = /\.([A-Za-z0-9]+)$/.exec(originalName.trim())?.[1]?.toLowerCase() ?? ''
  const isImage = imageExtensions.some((each) => each === extension)
  if (!isImage && !fileExtensions.some((each) => each === extension))
    throw slackRefusal('file_type_not_allowed', allowedNames)
  const most = isImage ? limits.image : limits.file
  if (size > most) throw slackRefusal('file_upload_size_restricted', `length must be at most ${most}`)
  const filename = `${uuidv7()}.${extension}`
  const pass = writeUploadPass(deps.seals, {
    token,
    filename,
    originalName,
    size,
    expiresAt: deps.clock() + passMs,
  })
  const url = `${deps.config.auth.appUrl}/slack/files?${new URLSearchParams({ pass })}`
  return { upload_url: url, file_id: filename }
}

/** `files.completeUploadExternal`: posts one message with all files, once. Without a channel it posts none. */
export async function completeUpload(call: SlackCall) {
  requireWriteScope(call)
  const { deps, args, caller } = call
  const ids = fileIdsOf(jsonOf(args, 'files', 'invalid_arguments'))
  const found = new Map((await findUploads(deps.db, ids)).map((upload) => [upload.filename, upload]))
  const uploads = ids.map((id) => found.get(id))
  if (!uploads.every((upload) => upload?.uploadedBy === caller.userId)) throw slackRefusal('file_not_found')
  // As at Slack, an upload is completed only once.
  if (await isAnyShared(deps.db, ids)) throw slackRefusal('file_not_found')
  const files = uploads as Upload[]
  const channel = textOf(args, 'channel_id') || textOf(args, 'channels')
  if (channel.includes(',')) throw slackRefusal('invalid_channel')
  if (channel !== '') {
    const textAndBlocks = { ...args, text: args.initial_comment, attachments: undefined, markdown_text: undefined }
    const isSilent =
      textOf(args, 'initial_comment') === '' && textOf(args, 'blocks') === '' && !Array.isArray(args.blocks)
    const body = isSilent ? { content: '' } : await readMessageContent({ ...call, args: textAndBlocks })
    const named = (kind: Upload['kind']) => files.filter((file) => file.kind === kind).map(({ filename }) => filename)
    const attachments = named('file').map((filename) => ({ filename }))
    const message = { ...body, attachments, images: named('image'), withUnusedFiles: true }
    // Another call has completed one of the uploads meanwhile.
    await post({ ...call, args: { ...args, channel } }, message, { duplicate: 'file_not_found' })
  }
  const completed = await findUploads(deps.db, ids)
  return { files: await Promise.all(completed.map((file) => asSlackFile(call, file))) }
}

/** `files.info`, for people who may read a message with the file, and for the person who uploaded it. */
export async function fileInfo(call: SlackCall) {
  const [file] = await findUploads(call.deps.db, [textOf(call.args, 'file', 'file_not_found')])
  if (!file) throw slackRefusal('file_not_found')
  const { kind, channelId, uploadedBy } = file
  if (kind === 'file' || channelId !== null) {
    const path = await pathOf(call.deps.db, file)
    const errorCodes = { 403: 'file_not_found', 404: 'file_not_found' }
    await call.ask({ service: 'messaging', method: 'HEAD', path }, errorCodes)
  } else if (uploadedBy !== call.caller.userId) throw slackRefusal('file_not_found')
  return { file: await asSlackFile(call, file), comments: [], response_metadata: { next_cursor: '' } }
}

function fileIdsOf(files: unknown): string[] {
  const ids: unknown[] = Array.isArray(files) ? files.map((file) => file?.id) : []
  const areIds = (all: unknown[]): all is string[] => all.every((id) => typeof id === 'string')
  if (ids.length === 0 || ids.length > limits.attachments || !areIds(ids))
    throw slackRefusal('invalid_arguments', `files must be a list of 1 to ${limits.attachments} files with an id`)
  return [...new Set(ids)]
}

type Upload = Pick<
  UploadRow,
  | 'filename'
  | 'kind'
  | 'channelId'
  | 'originalName'
  | 'contentType'
  | 'size'
  | 'width'
  | 'height'
  | 'uploadedBy'
  | 'createdAt'
>

/** The stored uploads with these names, in the same order. Does not check rights. Served by the primary key. */
async function findUploads(db: Reader, filenames: readonly string[]): Promise<Upload[]> {
  const rows: Upload[] = await db
    .selectFrom('uploads')
    .select(['filename', 'kind', 'channelId', 'originalName', 'contentType', 'size'])
    .select(['width', 'height', 'uploadedBy', 'createdAt'])
    .where('filename', 'in', [...filenames])
    .where('storedAt', 'is not', null)
    .execute()
  const byName = new Map(rows.map((row) => [row.filename, row]))
  return filenames.flatMap((filename) => byName.get(filename) ?? [])
}

/** Whether a message has one of these uploads. Served by message_uploads_of_file. */
async function isAnyShared(db: Reader, filenames: readonly string[]): Promise<boolean> {
  const shared = db
    .selectFrom('messageUploads')
    .select('filename')
    .where('filename', 'in', [...filenames])
  return (await shared.limit(1).executeTakeFirst()) !== undefined
}

/** The path of the bytes in Parley's API. */
async function pathOf(db: Reader, { kind, channelId, filename }: Upload): Promise<string> {
  if (kind === 'file' || channelId === null) return `/files/${filename}`
  const channel = await db.selectFrom('channels').select('kind').where('id', '=', channelId).executeTakeFirst()
  return imagePath(wireChannelId({ id: channelId, kind: channel?.kind ?? 'public' }), filename)
}

/** A file in Slack's format, with the channels that it was shared in. Channels that the caller may not read are left out. */
async function asSlackFile({ deps, caller }: SlackCall, file: Upload) {
  const { filename, originalName, contentType, size, width, height, uploadedBy, createdAt } = file
  const seconds = Math.floor(createdAt / 1_000)
  const shared = await deps.db
    .selectFrom('messageUploads')
    .innerJoin('messages', 'messages.id', 'messageUploads.messageId')
    .innerJoin('channels', 'channels.id', 'messages.channelId')
    .select(['channels.id', 'channels.kind'])
    .distinct()
    .where('filename', '=', filename)
    .where('messages.deletedAt', 'is', null)
    .limit(maxChannels)
    .execute()
  const pairWith = ({ id }: { id: string }) => ({ userId: caller.userId, channelId: id })
  const isReadable = await findReadable(deps.db, shared.map(pairWith))
  const seen = shared.filter((channel) => isReadable(pairWith(channel)))
  const ofKind = (kind: string) => seen.filter((channel) => channel.kind === kind).map(({ id }) => id)
  const url = `${deps.config.auth.appUrl}${await pathOf(deps.db, file)}`
  return {
    id: filename,
    created: seconds,
    timestamp: seconds,
    name: originalName,
    title: originalName,
    mimetype: contentType,
    filetype: filename.split('.').at(-1)!,
    user: uploadedBy,
    size,
    mode: 'hosted',
    is_external: false,
    is_public: ofKind('public').length > 0,
    url_private: url,
    url_private_download: url,
    ...(width !== null && height !== null && { original_w: width, original_h: height }),
    channels: ofKind('public'),
    groups: ofKind('private'),
    ims: ofKind('direct').map((id) => wireChannelId({ id, kind: 'direct' })),
  }
}

const maxChannels = 100
