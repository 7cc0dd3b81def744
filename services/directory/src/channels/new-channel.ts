import type { RequestContext } from '@parley/accounts'
import { audienceOf, type Channel, forbidden, unknownUser } from '@parley/contract'
import { audit, claimOf, type Database, once, record, type Transaction, uuidv7 } from '@parley/database'
import { type Caller, findCaller } from '@parley/identity'
import { changeMembers, channelPayload, channelView, listMembers, lockLivePeople } from '@parley/membership'
import { type ChannelFields, explainTakenName, kindOf, readChannelName, readTopic } from './channel-fields.ts'
import { insertChannel } from './channels.queries.ts'

/**
 * Creates a channel with the caller and these people as members, and records NEW_CHANNEL for its audience. With `key`,
 * an `Idempotency-Key`, a repeated request gets the first response.
 * @throws ApiError 400 when the name is refused or taken, or a member is unknown; as `once` for the key.
 */
export function createChannel(
  db: Database,
  { caller, ip, now }: RequestContext,
  fields: ChannelFields & { name: string },
  key?: string,
): Promise<Channel> {
  refuseGuest(caller)
  const name = readChannelName(fields.name)
  const members = [...new Set([caller.userId, ...(fields.members ?? [])])]

  const { topic = null, isPrivate = false } = fields
  const claim = claimOf(caller.userId, key, 'POST /channels', fields.name, topic, isPrivate, members)
  return once(db, { claim, now }, create)

  async function create(trx: Transaction): Promise<Channel> {
    const live = await lockLivePeople(trx, members)
    refuseGuest(await findCaller(trx, caller, now))
    if (live.size < members.length) throw unknownUser('members')

    const { id } = await insertChannel(trx, {
      ...name,
      id: uuidv7(),
      kind: kindOf(isPrivate),
      topic: readTopic(topic ?? ''),
      createdBy: caller.userId,
      createdAt: now,
    }).catch(explainTakenName)
    const membership = { joined: members, left: [] }
    const row = await changeMembers(trx, id, membership, { now })
    const channel = channelView(row, await listMembers(trx, id))

    const payload = { ...(await channelPayload(trx, row)), lastSeq: row.lastSeq }
    await record(trx, { type: 'NEW_CHANNEL', payload, routing: { ...audienceOf(row), membership } })
    await audit(trx, {
      action: 'channel.create',
      actorId: caller.userId,
      targetType: 'channel',
      targetId: row.id,
      metadata: { name: row.name, isPrivate: channel.isPrivate },
      ip,
    })
    return channel
  }
}

function refuseGuest({ role }: Caller) {
  if (role === 'guest') throw forbidden('Guests cannot create channels')
}
