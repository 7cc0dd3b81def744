import { forbidden, invalid, notFound } from '@parley/contract'
import { type ChannelRow, isRowId, type MessageRow, prepared, type Reader, type UploadRow } from '@parley/database'
import type { Caller } from '@parley/identity'
import { canReadById, isReader } from './can-read.ts'

interface AccessOptions {
  /** Holds the channel's row lock until the transaction ends. It is needed to record an event of the channel. */
  lock?: boolean
}

/**
 * The channel with this id, if the caller may read it and post to it (`isReader`). With `lock`, membership is read
 * after the lock was granted, so it cannot change before the commit.
 * @throws ApiError 404 when there is no such channel, 403 when the caller has no access.
 */
export async function accessChannel(
  db: Reader,
  caller: Caller,
  channelId: string,
  { lock = false }: AccessOptions = {},
) {
  const channel = await findChannel(db, channelId, { lock })
  if (!channel || channel.kind === 'direct') throw notFound('channel')
  await requireAccess(db, caller, channel)
  return channel
}

/**
 * The direct conversation with this id (`dm:…`), for its two participants only.
 * @throws ApiError 404 when there is no such conversation, 403 for everybody else, admins too.
 */
export async function accessConversation(
  db: Reader,
  caller: Caller,
  conversationId: string,
  { lock = false }: AccessOptions = {},
) {
  const rowId = conversationRowId(conversationId)
  const conversation = rowId === null ? undefined : await findChannel(db, rowId, { lock })
  if (conversation?.kind !== 'direct') throw notFound('conversation')
  await requireAccess(db, caller, conversation)
  return conversation
}

/** The channel or the conversation in the path of a request. */
export type PlaceInPath = { channelId: string } | { conversationId: string }

/** For routes that channels and conversations have in the same form. @throws as `accessChannel` and `accessConversation`. */
export const accessPlace = (db: Reader, caller: Caller, place: PlaceInPath): Promise<ChannelRow> =>
  'channelId' in place
    ? accessChannel(db, caller, place.channelId)
    : accessConversation(db, caller, place.conversationId)

/** @throws ApiError 403 unless the caller may read this channel or conversation. */
export async function requireAccess(db: Reader, caller: Caller, channel: ChannelRow): Promise<void> {
  if (isReader(channel.kind, { role: caller.role, isMember: false })) return
  const member = await db
    .selectFrom('channelMembers')
    .select('userId')
    .where('channelId', '=', channel.id)
    .where('userId', '=', caller.userId)
    .executeTakeFirst()
  if (!member) throw noMember(channel)
}

/** The refusal for somebody who may not read a channel or conversation. */
export const noMember = ({ kind }: Pick<ChannelRow, 'kind'>) =>
  forbidden(
    kind === 'direct' ? 'You are not a participant of this conversation' : 'You are not a member of this channel',
  )

/**
 * @throws ApiError 400 when a participant of the conversation was removed. The conversation can then be read, but
 * nobody can post to it.
 */
export async function requireRecipient(db: Reader, { id }: Pick<ChannelRow, 'id'>): Promise<void> {
  const gone = await db
    .selectFrom('channelMembers')
    .innerJoin('users', 'users.id', 'channelMembers.userId')
    .select('users.id')
    .where('channelId', '=', id)
    .where('removedAt', 'is not', null)
    .executeTakeFirst()
  if (gone) throw recipientGone()
}

/** The refusal of a new message in a conversation whose other participant was removed. */
export const recipientGone = () =>
  invalid('This person was removed from the server or has left it, so nobody would read the message', 'recipient_gone')

export interface AccessedMessage {
  message: MessageRow
  channel: ChannelRow
}

/**
 * The message with this id and its channel, if the caller may read it. With `lock`, the channel's row is locked first,
 * then the message's. Every writer keeps this order.
 * @throws ApiError 404 when it does not exist or was deleted, 403 when the caller has no access to its channel.
 */
export async function accessMessage(
  db: Reader,
  caller: Caller,
  messageId: string,
  { lock = false }: AccessOptions = {},
): Promise<AccessedMessage> {
  const found = await findChannelOf(db, messageId)
  const channel = found && (await findChannel(db, found.channelId, { lock }))
  if (!channel) throw notFound('message')
  await requireAccess(db, caller, channel)
  const message = await findMessage(db, messageId, lock)
  if (!message) throw notFound('message')
  return { message, channel }
}

/**
 * Like `accessMessage`, for a message that can have replies.
 * @throws ApiError also 400, when it is a direct message or itself a reply.
 */
export async function accessParent(
  db: Reader,
  caller: Caller,
  messageId: string,
  options: AccessOptions = {},
): Promise<AccessedMessage> {
  const accessed = await accessMessage(db, caller, messageId, options)
  if (accessed.channel.kind === 'direct') throw invalid('Direct messages cannot have threads')
  if (accessed.message.threadId !== null) throw invalid('A reply cannot have a thread of its own')
  return accessed
}

const findChannelOf = async (db: Reader, messageId: string) =>
  isRowId(messageId)
    ? db
        .selectFrom('messages')
        .select('channelId')
        .where('id', '=', messageId)
        .where('deletedAt', 'is', null)
        .executeTakeFirst()
    : undefined

const findMessage = (db: Reader, messageId: string, lock: boolean) => {
  const query = db.selectFrom('messages').selectAll().where('id', '=', messageId).where('deletedAt', 'is', null)
  return lock ? query.forUpdate().executeTakeFirst() : query.executeTakeFirst()
}

/**
 * The file with this name, if the caller uploaded it or may read a message that has it.
 * @throws ApiError 404 when there is no such file, 403 when the caller has no access.
 */
export async function accessFile(db: Reader, caller: Caller, filename: string): Promise<UploadRow> {
  const file = await findStored(db, filename)
  if (file?.kind !== 'file') throw notFound('file')
  if (file.uploadedBy === caller.userId || (await isOnReadableMessage(db, caller, filename))) return file
  throw forbidden('You have no access to this file')
}

/**
 * The image with this name in a channel or conversation that the caller may read. Once no message has it any more, only
 * its uploader may read it.
 * @throws ApiError 404 when this channel has no such image.
 */
export async function accessImage(
  db: Reader,
  caller: Caller,
  channel: Pick<ChannelRow, 'id'>,
  filename: string,
): Promise<UploadRow> {
  const image = await findStored(db, filename)
  if (image?.kind !== 'image' || image.channelId !== channel.id) throw notFound('image')
  const { idleSince, createdAt, uploadedBy } = image
  const isTakenOff = idleSince !== null && idleSince > createdAt
  if (isTakenOff && uploadedBy !== caller.userId) throw notFound('image')
  return image
}

const findStored = (db: Reader, filename: string): Promise<UploadRow | undefined> =>
  db
    .selectFrom('uploads')
    .selectAll()
    .where('filename', '=', filename)
    .where('storedAt', 'is not', null)
    .executeTakeFirst()

/** Served by message_uploads_of_file and primary keys. */
const isOnReadableMessage = async (db: Reader, caller: Caller, filename: string): Promise<boolean> =>
  (await db
    .selectFrom('messageUploads')
    .innerJoin('messages', 'messages.id', 'messageUploads.messageId')
    .select('messages.id')
    .where('messageUploads.filename', '=', filename)
    .where('messages.deletedAt', 'is', null)
    .where(canReadById('messages.channelId', caller))
    .limit(1)
    .executeTakeFirst()) !== undefined

/** A channel or conversation that is not deleted, by its row id. It does not check whether somebody may read it. */
export async function findChannel(
  db: Reader,
  rowId: string,
  { lock = false }: AccessOptions = {},
): Promise<ChannelRow | undefined> {
  if (!isRowId(rowId)) return undefined
  const [channel] = await (lock ? lockLive : findLive)(db, { rowId })
  return channel
}

const columns = [
  'id',
  'kind',
  'name',
  'nameKey',
  'topic',
  'createdBy',
  'createdAt',
  'updatedAt',
  'deletedAt',
  'membersVersion',
  'memberCount',
  'lastSeq',
  'directKey',
] as const satisfies (keyof ChannelRow)[]

const selectLive = (db: Reader, { rowId }: { rowId: string }) =>
  db.selectFrom('channels').select(columns).where('id', '=', rowId).where('deletedAt', 'is', null)
const findLive = prepared(selectLive)
const lockLive = prepared((db, input: { rowId: string }) => selectLive(db, input).forNoKeyUpdate())

const conversationPrefix = 'dm:'

/** The id of a channel or conversation as clients know it. */
export const wireChannelId = ({ id, kind }: Pick<ChannelRow, 'id' | 'kind'>) =>
  kind === 'direct' ? conversationPrefix + id : id

/** Whether an id of the API belongs to a conversation, and not to a channel. */
export const isConversationId = (channelId: string): boolean => channelId.startsWith(conversationPrefix)

/** The row id in a conversation id; null when the text has another form. */
export const conversationRowId = (conversationId: string) =>
  isConversationId(conversationId) ? conversationId.slice(conversationPrefix.length) : null

/** The id of the row of a channel or conversation, from its id in the API. */
export const rowIdOf = (channelId: string): string => conversationRowId(channelId) ?? channelId
