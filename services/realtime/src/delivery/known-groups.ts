import { anyOf, type Database } from '@parley/database'
import { sql } from 'kysely'
import type { Routed } from '../streams/known-channels.ts'

export type KnownGroups = ReturnType<typeof createKnownGroups>

const prefix = 'group:'

/**
 * Who is in the groups that messages mention. A group is read when an event mentions it, and read anew after an event that says that its
 * members are others (`reloadGroups`).
 */
export function createKnownGroups({ db, mostGroups = 1_000 }: { db: Database; mostGroups?: number }) {
  const groups = new Map<string, ReadonlySet<string>>()
  /** Grows whenever groups are forgotten: what was being read then may be outdated. */
  let changes = 0
  let loading = 0

  const isKnown = ({ routing }: Routed) =>
    routing.to !== 'channel' || !routing.mentions || groupsIn(routing.mentions).every((id) => groups.has(id))

  /** Reads the unknown groups that these events mention. @throws when the database is away. */
  async function load(events: readonly Routed[]): Promise<void> {
    loading++
    try {
      for (;;) {
        const mentioned = events.flatMap(({ routing }) => (routing.to === 'channel' ? groupsIn(routing.mentions) : []))
        const wanted = [...new Set(mentioned)].filter((id) => !groups.has(id))
        if (wanted.length === 0) return
        const begun = changes
        const found = await readMembers(db, wanted)
        if (begun !== changes) continue
        for (const id of wanted) groups.set(id, found.get(id) ?? new Set())
      }
    } finally {
      loading--
    }
  }

  /** Everybody who is mentioned, by name or through a group. A returned set is never changed: a new set replaces it. */
  function mentionedBy(mentions: readonly string[]): ReadonlySet<string> {
    const mentioned = groupsIn(mentions).map((id) => groups.get(id) ?? nobody)
    if (mentioned.length === 1 && mentions.length === 1) return mentioned[0]!
    const all = new Set(mentions)
    for (const members of mentioned) for (const userId of members) all.add(userId)
    return all
  }

  /** Forgets these groups, because their members have changed. Without ids, it forgets all groups. */
  function forget(groupIds: Iterable<string> = [...groups.keys()]) {
    changes++
    for (const id of groupIds) groups.delete(id)
  }

  /** Forgets the groups that were read first. Never while events wait for their delivery: they need the groups. */
  function trim() {
    if (loading > 0) return
    for (const id of groups.keys()) {
      if (groups.size <= mostGroups) return
      groups.delete(id)
    }
  }

  return { isKnown, load, mentionedBy, forget, trim }
}

const nobody: ReadonlySet<string> = new Set()

const groupsIn = (mentions: readonly string[] = []): string[] =>
  mentions.filter((mention) => mention.startsWith(prefix)).map((mention) => mention.slice(prefix.length))

/** The members come as one text, because the driver reads arrays slowly and there may be thousands. Served by the primary key. */
async function readMembers(db: Database, groupIds: string[]): Promise<Map<string, ReadonlySet<string>>> {
  const rows = await db
    .selectFrom('groupMembers')
    .select(['groupId', sql<string>`string_agg(user_id::text, ',')`.as('members')])
    .where('groupId', '=', anyOf(groupIds))
    .groupBy('groupId')
    .execute()
  return new Map(rows.map(({ groupId, members }) => [groupId, new Set(members.split(','))]))
}
