import { type Act, lockLivePeople } from '@parley/accounts'
import { audienceOf, type Channel, unauthorized } from '@parley/contract'
import { audit, type Database, record, uuidv7 } from '@parley/database'
import {
  type ChannelFields,
  channelView,
  explainTakenName,
  kindOf,
  readChannelName,
  readTopic,
  unknownMember,
} from './channel.fields.ts'
import { insertChannel, insertMembers, listMembers } from './channels.queries.ts'

/**
 * Creates a channel with the caller and these people in it, and tells its audience (NEW_CHANNEL).
 * @throws ApiError 400 when the name is refused or taken, or a member is unknown.
 */
export function createChannel(
  db: Database,
  { caller, ip, now }: Act,
  fields: ChannelFields & { name: string },
): Promise<Channel> {
  const name = readChannelName(fields.name)
  const members = [...new Set([caller.userId, ...(fields.members ?? [])])]

  return db.transaction().execute(async (trx) => {
    const live = await lockLivePeople(trx, members)
    if (!live.has(caller.userId)) throw unauthorized('The session has ended, please sign in again')
    if (live.size < members.length) throw unknownMember()

    const row = await insertChannel(trx, {
      ...name,
      id: uuidv7(),
      kind: kindOf(fields.isPrivate ?? false),
      topic: readTopic(fields.topic ?? null),
      createdBy: caller.userId,
      createdAt: now,
    }).catch(explainTakenName)
    await insertMembers(trx, row.id, members, now)
    const channel = channelView(row, await listMembers(trx, row.id))

    await record(trx, { type: 'NEW_CHANNEL', payload: { ...channel, lastSeq: row.lastSeq }, routing: audienceOf(row) })
    await audit(trx, {
      action: 'channel.create',
      actorId: caller.userId,
      targetType: 'channel',
      targetId: row.id,
      metadata: { name: row.name, isPrivate: channel.isPrivate },
      ip,
    })
    return channel
  })
}
