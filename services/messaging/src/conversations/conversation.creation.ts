import { wireChannelId } from '@parley/access'
import { lockLivePeople } from '@parley/accounts'
import { type Conversation, invalid, onlyUsers, unauthorized } from '@parley/contract'
import { type ChannelRow, type Database, record, type UserRow } from '@parley/database'
import type { Caller } from '@parley/identity'
import { findConversation, findPerson, insertConversation } from './conversations.queries.ts'

export interface OpenedConversation {
  conversation: Conversation
  isNew: boolean
}

/**
 * The conversation of the caller with somebody, created now if they have none, which both are told (NEW_CONVERSATION).
 * One that exists is found also after the other one has left: its messages can still be read.
 * @throws ApiError 400 when it is the caller, or nobody.
 */
export async function openConversation(
  db: Database,
  caller: Caller,
  targetUserId: string,
  now: number,
): Promise<OpenedConversation> {
  const other = await findPerson(db, targetUserId)
  if (!other) throw unknownTarget()
  if (other.id === caller.userId) throw invalid('A conversation needs somebody else')
  const participants = [caller.userId, other.id].sort()

  const known = await findConversation(db, participants)
  return known ? { conversation: viewOf(known, participants, other), isNew: false } : create()

  function create(): Promise<OpenedConversation> {
    return db.transaction().execute(async (trx) => {
      const live = await lockLivePeople(trx, participants)
      if (!live.has(caller.userId)) throw unauthorized('The session has ended, please sign in again')
      if (!live.has(other!.id)) throw unknownTarget()

      const created = await insertConversation(trx, { participants, createdBy: caller.userId, createdAt: now })
      if (created) {
        await record(trx, {
          type: 'NEW_CONVERSATION',
          payload: { id: wireChannelId(created), participants, createdAt: created.createdAt },
          routing: onlyUsers(...participants),
        })
      }
      // Whoever was faster has committed by now.
      const conversation = created ?? (await findConversation(trx, participants))!
      return { conversation: viewOf(conversation, participants, other!), isNew: created !== undefined }
    })
  }
}

const unknownTarget = () => invalid('targetUserId belongs to nobody')

const viewOf = (row: ChannelRow, participants: string[], { id, userName }: UserRow): Conversation => ({
  id: wireChannelId(row),
  participants,
  otherUser: { id, userName },
  createdAt: row.createdAt,
})
