import { type Act, lockLivePeople } from '@parley/accounts'
import { audienceOf, type Channel, onlyUsers } from '@parley/contract'
import { audit, type ChannelRow, type Database, record, type Transaction } from '@parley/database'
import { startReading } from '@parley/read-states'
import {
  type ChannelFields,
  channelView,
  explainTakenName,
  kindOf,
  readChannelName,
  readTopic,
  unknownMember,
} from './channel.fields.ts'
import { lockOwnChannel } from './channel.ownership.ts'
import {
  deleteMembers,
  findAdmins,
  insertMembers,
  listMembers,
  listPrivateMembers,
  updateChannel,
} from './channels.queries.ts'

/** A channel with its members, before or after the change. */
interface Seen {
  row: ChannelRow
  members: string[]
}

/**
 * Changes what is given of a channel, for its creator or an admin. Who loses access is told that it is gone, who gains
 * access that it is new, its audience what it is like now. What it is already is no change.
 * @throws ApiError 400 when the name is refused or taken or a member unknown, 403 and 404 as `lockOwnChannel`.
 */
export async function changeChannel(
  db: Database,
  { caller, ip, now }: Act,
  channelId: string,
  fields: ChannelFields,
): Promise<Channel> {
  const name = fields.name === undefined ? {} : readChannelName(fields.name)
  const topic = fields.topic === undefined ? {} : { topic: readTopic(fields.topic) }

  for (;;) {
    const changed = await db.transaction().execute(change)
    if (changed) return changed
  }

  /** Answers undefined, and has changed nothing, when somebody joined before the channel was locked: they must be locked first. */
  async function change(trx: Transaction): Promise<Channel | undefined> {
    // What they are told depends on whether they are admins: that must stay as it is until the commit. Who was removed is none.
    const present = fields.members === undefined ? [] : await listPrivateMembers(trx, channelId)
    const live = await lockLivePeople(trx, [...present, ...(fields.members ?? [])])
    const row = await lockOwnChannel(trx, caller, channelId)
    const before = { row, members: await listMembers(trx, row.id) }
    if (fields.members?.some((id) => !live.has(id))) throw unknownMember()

    const kind = fields.isPrivate === undefined ? row.kind : kindOf(fields.isPrivate)
    const wished = membersAfter(before, fields.members)
    const joined = without(wished, before.members)
    const left = without(before.members, wished)
    const locked = new Set([...present, ...live])
    if (row.kind === 'private' && left.some((id) => !locked.has(id))) return undefined
    const readersChange = kind !== row.kind || joined.length + left.length > 0
    const wish: Partial<ChannelRow> = { ...name, ...topic }
    const isSame = (Object.keys(wish) as (keyof ChannelRow)[]).every((field) => wish[field] === row[field])
    if (isSame && !readersChange) return channelView(row, before.members)

    if (row.kind === 'private') {
      await startReading(trx, row.id, kind === 'public' ? { allBut: before.members } : { only: joined })
    }
    await insertMembers(trx, row.id, joined, now)
    await deleteMembers(trx, row.id, left)
    const after = {
      row: await updateChannel(trx, row.id, {
        ...name,
        ...topic,
        kind,
        updatedAt: now,
        membersVersion: row.membersVersion + (readersChange ? 1 : 0),
      }).catch(explainTakenName),
      members: await listMembers(trx, row.id),
    }

    await announce(trx, before, after)
    await audit(trx, {
      action: 'channel.update',
      actorId: caller.userId,
      targetType: 'channel',
      targetId: row.id,
      metadata: { from: auditView(before), to: auditView(after), joined, left },
      ip,
    })
    return channelView(after.row, after.members)
  }
}

/** The list that is wished for, or the present one; the creator stays in either. */
function membersAfter({ row, members }: Seen, wish: string[] | undefined): string[] {
  const creator = members.filter((id) => id === row.createdBy)
  return wish === undefined ? members : [...new Set([...creator, ...wish])]
}

/** Whoever is told that the channel is gone knows it by its old name, and learns nothing newer. */
async function announce(trx: Transaction, before: Seen, after: Seen): Promise<void> {
  const channel = channelView(after.row, after.members)
  const found = { ...channel, lastSeq: after.row.lastSeq }
  const gone = { id: before.row.id, name: before.row.name }
  const wasPrivate = before.row.kind === 'private'

  if (wasPrivate && channel.isPrivate) {
    const joined = without(after.members, before.members)
    const left = without(before.members, after.members)
    // Admins read every channel, as members or not. Those who join or leave are locked, so nobody becomes one or ceases to be.
    const admins = [...(await findAdmins(trx, [...joined, ...left]))]
    const losers = without(left, admins)
    const gainers = without(joined, admins)
    if (losers.length > 0) await record(trx, { type: 'DELETE_CHANNEL', payload: gone, routing: onlyUsers(...losers) })
    if (gainers.length > 0) await record(trx, { type: 'NEW_CHANNEL', payload: found, routing: onlyUsers(...gainers) })
  } else if (channel.isPrivate) {
    await record(trx, { type: 'DELETE_CHANNEL', payload: gone, routing: { to: 'outsiders', members: after.members } })
  } else if (wasPrivate) {
    await record(trx, { type: 'NEW_CHANNEL', payload: found, routing: { to: 'outsiders', members: before.members } })
  }

  await record(trx, { type: 'UPDATE_CHANNEL', payload: channel, routing: audienceOf(after.row) })
}

const auditView = ({ row: { name, topic, kind } }: Seen) => ({ name, topic, isPrivate: kind === 'private' })

function without(ids: string[], others: string[]): string[] {
  const excluded = new Set(others)
  return ids.filter((id) => !excluded.has(id))
}
