import { conversationRowId } from '@parley/access'
import { type ChannelPreferences, type Conversation, limits, type ReadState } from '@parley/contract'
import { type ChannelRow, isRowId, type Reader, type Transaction, type UserRow, uuidv7 } from '@parley/database'
import { joinPreferences, preferencesColumns } from '@parley/membership'
import { readStateColumns } from '@parley/read-states'
import { listAsJson, type PageRequest } from '@parley/service'
import { type RawBuilder, sql } from 'kysely'
import { directKeyOf } from '../direct-key.ts'

export type ListedConversation = Conversation & ChannelPreferences & ReadState & { lastMessageAt: number }

/** The conversation of these people. Served by channels_direct. */
export const findConversation = (db: Reader, participants: readonly string[]): Promise<ChannelRow | undefined> =>
  db
    .selectFrom('channels')
    .selectAll()
    .where('kind', '=', 'direct')
    .where('directKey', '=', directKeyOf(participants))
    .executeTakeFirst()

/** A person, also one who was removed. */
export const findPerson = async (db: Reader, userId: string): Promise<Participant | undefined> =>
  isRowId(userId)
    ? db.selectFrom('users').select(['id', 'userName', 'role']).where('id', '=', userId).executeTakeFirst()
    : undefined

export type Participant = Pick<UserRow, 'id' | 'userName' | 'role'>

/** Creates a conversation. Undefined when another transaction has created the same one; this waits for that transaction. */
export async function insertConversation(
  trx: Transaction,
  { participants, createdBy, createdAt }: { participants: readonly string[]; createdBy: string; createdAt: number },
): Promise<ChannelRow | undefined> {
  const conversation = await trx
    .insertInto('channels')
    .values({
      id: uuidv7(),
      kind: 'direct',
      name: '',
      nameKey: '',
      createdBy,
      createdAt,
      directKey: directKeyOf(participants),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
  if (!conversation) return undefined

  const members = participants.map((userId) => ({ channelId: conversation.id, userId, joinedAt: createdAt }))
  await trx.insertInto('channelMembers').values(members).execute()
  return conversation
}

/**
 * The JSON text of `{conversations: […], hasMore}`: the conversations of a person. The whole list is ordered by the
 * newest message. Pages are ordered by the creation of the conversations, because that order does not change between
 * two pages. Served by channel_members_of_user.
 */
export const listConversations = (db: Reader, userId: string, page: PageRequest): Promise<string> =>
  listAsJson(db, page, {
    name: 'conversations',
    most: limits.pageSize,
    rowId: conversationRowId,
    sortKeyOf: (id) => sql`
      select channels.id as key from channels join channel_members own on own.channel_id = channels.id
      where channels.id = ${id} and channels.kind = 'direct' and own.user_id = ${userId}`,
    items: ({ isPage, after, limit }) => sql`
      ${listed(
        userId,
        sql`own.user_id = ${userId} and ${after('<', 'own.channel_id')} order by own.channel_id desc ${limit}`,
      )}
      order by ${isPage ? sql`` : sql`"lastMessageAt" desc,`} channels.id desc`,
  })

/** One conversation, with the fields of the listing. The user must be one of its participants. */
export async function findListedConversation(db: Reader, userId: string, rowId: string): Promise<ListedConversation> {
  const { rows } = await listed(userId, sql`own.user_id = ${userId} and own.channel_id = ${rowId}`).execute(db)
  return rows[0]!
}

/** The items of the listing for the conversations of which the user's own membership meets the condition. */
const listed = (userId: string, ownMembership: RawBuilder<unknown>) => sql<ListedConversation>`
      select 'dm:' || channels.id as id,
        array[least(channels.own_id, users.id), greatest(channels.own_id, users.id)] as participants,
        json_build_object('id', users.id, 'userName', users.user_name) as "otherUser",
        channels.created_at as "createdAt", ${newestMessageAt} as "lastMessageAt", ${preferencesColumns}, read_state.*
      from (
        select channels.*, own.user_id as own_id, others.user_id as other_id
        from channel_members own
          join channels on channels.id = own.channel_id and channels.kind = 'direct'
          join channel_members others on others.channel_id = own.channel_id and others.user_id <> own.user_id
        where ${ownMembership}
      ) channels join users on users.id = channels.other_id ${joinPreferences(userId)}, ${readStateColumns(userId)} read_state`

/** One index look-up in messages_of_channel. */
const newestMessageAt = sql<number>`coalesce((
  select messages.created_at from messages
  where messages.channel_id = channels.id and messages.thread_id is null order by messages.seq desc limit 1
), channels.created_at)`
