import { wireChannelId } from '@parley/access'
import { lockLivePeople } from '@parley/accounts'
import { type Conversation, invalid, onlyUsers, sessionEnded } from '@parley/contract'
import { type ChannelRow, claimOf, type Database, once, type Reader, record, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { recipientGone } from '../sending/refusal.ts'
import { findConversation, findPerson, insertConversation, type Participant } from './conversations.queries.ts'

export interface OpenedConversation {
  conversation: Conversation
  isNew: boolean
}

/**
 * The conversation of the caller with somebody, created now if they have none, which both are told (NEW_CONVERSATION).
 * One that exists is found also after the other one has left: its messages can still be read.
 * With `key`, an `Idempotency-Key`, a repeated request gets the first answer.
 * @throws ApiError 400 when it is the caller, or nobody, or somebody who is not here any more and with whom there is none yet; as `once`
 * for the key.
 */
export async function openConversation(
  db: Database,
  caller: Caller,
  targetUserId: string,
  now: number,
  key?: string,
): Promise<OpenedConversation> {
  const other = await findPerson(db, targetUserId)
  if (!other) throw unknownTarget()
  if (other.id === caller.userId) throw invalid('targetUserId must not be yourself')
  const participants = [caller.userId, other.id].sort()

  const claim = claimOf(caller.userId, key, 'POST /conversations', other.id)
  return (claim ? undefined : await findKnown(db)) ?? db.transaction().execute((trx) => once(trx, claim, now, open))

  async function findKnown(reader: Reader): Promise<OpenedConversation | undefined> {
    const known = await findConversation(reader, participants)
    return known && { conversation: viewOf(known, participants, other!), isNew: false }
  }

  async function open(trx: Transaction): Promise<OpenedConversation> {
    const known = await findKnown(trx)
    if (known) return known
    const live = await lockLivePeople(trx, participants)
    if (!live.has(caller.userId)) throw sessionEnded()
    if (!live.has(other!.id)) throw recipientGone()

    const created = await insertConversation(trx, { participants, createdBy: caller.userId, createdAt: now })
    // Whoever was faster has committed by now.
    if (!created) return (await findKnown(trx))!
    await recordConversationCreated(trx, created, [(await findPerson(trx, caller.userId))!, other!])
    return { conversation: viewOf(created, participants, other!), isNew: true }
  }
}

const unknownTarget = () => invalid('targetUserId must be the id of a user')

/** Each of the two is told who the other one is. */
async function recordConversationCreated(
  trx: Transaction,
  created: ChannelRow,
  [one, other]: [Participant, Participant],
) {
  const participants = [one.id, other.id].sort()
  for (const [reader, partner] of [
    [one, other],
    [other, one],
  ] as const) {
    const payload = viewOf(created, participants, partner)
    await record(trx, { type: 'NEW_CONVERSATION', payload, routing: onlyUsers(reader.id) })
  }
}

const viewOf = (row: ChannelRow, participants: string[], { id, userName }: Participant): Conversation => ({
  id: wireChannelId(row),
  participants,
  otherUser: { id, userName },
  createdAt: row.createdAt,
})
