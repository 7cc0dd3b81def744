import type { Conversation, ReadState } from '@parley/contract'
import {
  type ChannelRow,
  isRowId,
  type Reader,
  readStateOf,
  type Transaction,
  type UserRow,
  uuidv7,
} from '@parley/database'
import { sql } from 'kysely'

/** What makes the conversation of two people the only one they have. */
export const directKey = (participants: readonly string[]) => participants.toSorted().join(':')

/** The conversation of these people. Served by channels_direct. */
export const findConversation = (db: Reader, participants: readonly string[]): Promise<ChannelRow | undefined> =>
  db
    .selectFrom('channels')
    .selectAll()
    .where('kind', '=', 'direct')
    .where('directKey', '=', directKey(participants))
    .executeTakeFirst()

/** Somebody who is or was here. */
export const findPerson = async (db: Reader, userId: string): Promise<UserRow | undefined> =>
  isRowId(userId) ? db.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirst() : undefined

/** Waits for whoever is about to create the same conversation, and answers undefined when they did. */
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
      directKey: directKey(participants),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
  if (!conversation) return undefined

  const members = participants.map((userId) => ({ channelId: conversation.id, userId, joinedAt: createdAt }))
  await trx.insertInto('channelMembers').values(members).execute()
  return conversation
}

export interface ListedConversation extends Conversation, ReadState {
  /** When the newest message came; when it began, as long as there is none. */
  lastMessageAt: number
}

/** Somebody's conversations, those with the newest messages first. Served by channel_members_of_user. */
export async function listConversations(db: Reader, userId: string): Promise<ListedConversation[]> {
  const rows = await db
    .selectFrom('channelMembers as own')
    .innerJoin('channels', 'channels.id', 'own.channelId')
    .innerJoin('channelMembers as others', (join) =>
      join.onRef('others.channelId', '=', 'channels.id').onRef('others.userId', '<>', 'own.userId'),
    )
    .innerJoin('users', 'users.id', 'others.userId')
    .where('own.userId', '=', userId)
    .where('channels.kind', '=', 'direct')
    .select([
      sql<string>`'dm:' || channels.id`.as('id'),
      sql<string[]>`array[least(own.user_id, users.id)::text, greatest(own.user_id, users.id)::text]`.as(
        'participants',
      ),
      sql<Conversation['otherUser']>`json_build_object('id', users.id, 'userName', users.user_name)`.as('otherUser'),
      'channels.createdAt',
      newestMessageAt.as('lastMessageAt'),
      readStateOf(userId).as('readState'),
    ])
    .orderBy('lastMessageAt', 'desc')
    .orderBy('channels.id', 'desc')
    .execute()
  return rows.map(({ readState, ...conversation }) => ({ ...conversation, ...readState }))
}

/** One look at the end of messages_of_channel. */
const newestMessageAt = sql<number>`coalesce((
  select messages.created_at from messages
  where messages.channel_id = channels.id and messages.thread_id is null order by messages.seq desc limit 1
), channels.created_at)`
