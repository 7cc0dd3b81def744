import { forbidden, notFound } from '@parley/contract'
import { type ChannelRow, isRowId, prepared, type Reader } from '@parley/database'
import type { Caller } from '@parley/identity'
import { sql } from 'kysely'

export interface AccessOptions {
  /** Takes the channel's row lock until the transaction ends. Whoever records an event of the channel needs it. */
  lock?: boolean
}

/**
 * The channel with this id, if the caller may read it and post to it: anybody for a public one, members and admins for
 * a private one. With `lock`, membership is read after the lock was granted, so it cannot change before the commit.
 * @throws ApiError 404 when there is no such channel, 403 when the caller has no access.
 */
export async function accessChannel(
  db: Reader,
  caller: Caller,
  channelId: string,
  { lock = false }: AccessOptions = {},
) {
  const channel = await findChannel(db, channelId, lock)
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
  const conversation = rowId === null ? undefined : await findChannel(db, rowId, lock)
  if (conversation?.kind !== 'direct') throw notFound('conversation')
  await requireAccess(db, caller, conversation)
  return conversation
}

/** Throws 403 unless the caller belongs to the audience of this channel or conversation. */
export async function requireAccess(db: Reader, caller: Caller, channel: ChannelRow): Promise<void> {
  if (channel.kind === 'public') return
  if (channel.kind === 'private' && caller.isAdmin) return
  const member = await db
    .selectFrom('channelMembers')
    .select('userId')
    .where('channelId', '=', channel.id)
    .where('userId', '=', caller.userId)
    .executeTakeFirst()
  if (!member) {
    throw forbidden(
      channel.kind === 'direct'
        ? 'You are not a participant of this conversation'
        : 'You are not a member of this channel',
    )
  }
}

/**
 * SQL for `requireAccess`: whether the caller may read the live channel or conversation whose row id stands in a column. Looked
 * up row by row (`offset 0`): it judges what was found, it never lists what somebody may read.
 */
export const mayRead = (caller: Caller, channelIdColumn: string) => sql<boolean>`exists (
  select from channels c where c.id = ${sql.ref(channelIdColumn)} and c.deleted_at is null
    and (c.kind = 'public' or c.kind = 'private' and ${caller.isAdmin} or exists (
      select from channel_members m where m.channel_id = c.id and m.user_id = ${caller.userId} offset 0))
  offset 0)`

/** A live channel or conversation by its row id, for whoever was let in by other means than being its reader. */
export async function findChannel(db: Reader, rowId: string, lock: boolean): Promise<ChannelRow | undefined> {
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

/** The row id within a conversation id, null when it has another form. */
export const conversationRowId = (conversationId: string) =>
  conversationId.startsWith(conversationPrefix) ? conversationId.slice(conversationPrefix.length) : null
