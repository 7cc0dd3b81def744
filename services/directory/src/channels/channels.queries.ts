import type { Channel, ReadState } from '@parley/contract'
import { type ChannelRow, type Reader, readStateOf, type Tables, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { type Insertable, sql, type Updateable } from 'kysely'
import { channelView } from './channel.fields.ts'

// One order everywhere: the creator, then who joined first. Needs `channels` in the statement.
const membersOfRow = sql<string[]>`array(
  select m.user_id::text from channel_members m where m.channel_id = channels.id
  order by m.user_id <> channels.created_by, m.joined_at, m.user_id
)`

/** The channels that the caller may read with their members and where the caller stands, by name, in one statement. */
export async function listChannels(db: Reader, caller: Caller): Promise<(Channel & ReadState)[]> {
  const rows = await db
    .selectFrom('channels')
    .selectAll()
    .select([membersOfRow.as('members'), readStateOf(caller.userId).as('readState')])
    .where('deletedAt', 'is', null)
    .where('kind', '<>', 'direct')
    .$if(!caller.isAdmin, (query) =>
      query.where(({ or, eb, exists, selectFrom }) =>
        or([
          eb('kind', '=', 'public'),
          exists(
            selectFrom('channelMembers')
              .select('userId')
              .whereRef('channelId', '=', 'channels.id')
              .where('userId', '=', caller.userId),
          ),
        ]),
      ),
    )
    .orderBy('nameKey')
    .execute()
  return rows.map(({ members, readState, ...row }) => ({ ...channelView(row, members), ...readState }))
}

/** The ids of the members: the creator, then who joined first. */
export async function listMembers(db: Reader, channelId: string): Promise<string[]> {
  const { members } = await db
    .selectFrom('channels')
    .select(membersOfRow.as('members'))
    .where('id', '=', channelId)
    .executeTakeFirstOrThrow()
  return members
}

/** Those of these people who are admins. */
export async function findAdmins(db: Reader, userIds: string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('users')
    .select('id')
    .where('id', '=', anyOf(userIds))
    .where('isAdmin', '=', true)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

export const insertChannel = (trx: Transaction, row: Insertable<Tables['channels']>): Promise<ChannelRow> =>
  trx.insertInto('channels').values(row).returningAll().executeTakeFirstOrThrow()

export const updateChannel = (trx: Transaction, id: string, row: Updateable<Tables['channels']>): Promise<ChannelRow> =>
  trx.updateTable('channels').set(row).where('id', '=', id).returningAll().executeTakeFirstOrThrow()

export const insertMembers = (trx: Transaction, channelId: string, userIds: string[], joinedAt: number) =>
  sql`insert into channel_members (channel_id, user_id, joined_at)
      select ${channelId}::uuid, user_id, ${joinedAt}::bigint from unnest(${userIds}::uuid[]) as user_id`.execute(trx)

export const deleteMembers = (trx: Transaction, channelId: string, userIds: string[]) =>
  trx.deleteFrom('channelMembers').where('channelId', '=', channelId).where('userId', '=', anyOf(userIds)).execute()

/** One parameter, however many there are: a statement has room for 65,535. */
const anyOf = (ids: string[]) => sql<string>`any(${ids}::uuid[])`
