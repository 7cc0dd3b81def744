import type { Act } from '@parley/accounts'
import { type Channel, onlyUsers } from '@parley/contract'
import { audit, type ChannelRow, type Database, record, type Transaction } from '@parley/database'
import {
  changeMembers,
  channelView,
  findAdmins,
  listMembers,
  lockLivePeople,
  type MemberChange,
  tellAudience,
  tellOwnStreams,
  toldChannel,
} from '@parley/membership'
import { startReading } from '@parley/read-states'
import {
  type ChannelFields,
  explainTakenName,
  kindOf,
  readChannelName,
  readTopic,
  unknownMember,
} from './channel-fields.ts'
import { lockOwnChannel } from './channel-ownership.ts'
import { listPrivateMembers, updateChannel } from './channels.queries.ts'

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
    const membersChange = joined.length + left.length > 0
    const wish: Partial<ChannelRow> = { ...name, ...topic }
    const isSame = (Object.keys(wish) as (keyof ChannelRow)[]).every((field) => wish[field] === row[field])
    if (isSame && kind === row.kind && !membersChange) return channelView(row, before.members)

    if (row.kind === 'private') {
      await startReading(trx, row.id, kind === 'public' ? { allBut: before.members } : { only: joined })
    }
    const { membersVersion } = membersChange ? await changeMembers(trx, row.id, { joined, left }, now) : row
    const after = {
      row: await updateChannel(trx, row.id, {
        ...name,
        ...topic,
        kind,
        updatedAt: now,
        membersVersion: membersVersion + (kind === row.kind ? 0 : 1),
      }).catch(explainTakenName),
      members: await listMembers(trx, row.id),
    }

    await announce(trx, before, after, { joined, left })
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
async function announce(trx: Transaction, before: Seen, after: Seen, { joined, left }: MemberChange): Promise<void> {
  const channel = { ...(await toldChannel(trx, after.row)), lastSeq: after.row.lastSeq }
  const gone = { id: before.row.id, name: before.row.name }
  const wasPrivate = before.row.kind === 'private'
  const isPrivate = after.row.kind === 'private'

  if (wasPrivate && isPrivate) {
    // Admins read every channel, as members or not. Those who join or leave are locked, so nobody becomes one or ceases to be.
    const admins = await findAdmins(trx, [...joined, ...left])
    const losers = left.filter((id) => !admins.has(id))
    const gainers = joined.filter((id) => !admins.has(id))
    if (losers.length > 0) await record(trx, { type: 'DELETE_CHANNEL', payload: gone, routing: onlyUsers(...losers) })
    if (gainers.length > 0) await record(trx, { type: 'NEW_CHANNEL', payload: channel, routing: onlyUsers(...gainers) })
    const isAdmin = (id: string) => admins.has(id)
    await tellOwnStreams(trx, after.row, { joined: joined.filter(isAdmin), left: left.filter(isAdmin) })
  } else {
    const outsiders = { to: 'outsiders', channel: gone.id } as const
    if (isPrivate) {
      const routing = { ...outsiders, members: after.members }
      await record(trx, { type: 'DELETE_CHANNEL', payload: gone, routing })
    } else if (wasPrivate) {
      const routing = { ...outsiders, members: before.members }
      await record(trx, { type: 'NEW_CHANNEL', payload: channel, routing })
    }
    await tellOwnStreams(trx, after.row, { joined, left })
  }

  const isSameKind = wasPrivate === isPrivate
  await tellAudience(trx, after.row, isSameKind ? { joined, left } : undefined)
}

const auditView = ({ row: { name, topic, kind } }: Seen) => ({ name, topic, isPrivate: kind === 'private' })

function without(ids: string[], others: string[]): string[] {
  const excluded = new Set(others)
  return ids.filter((id) => !excluded.has(id))
}
