import { groupIdsIn } from '@parley/contract'
import { anyOf, type Database } from '@parley/database'
import { sql } from 'kysely'
import type { Routed } from '../streams/known-channels.ts'

/**
 * The members of the groups that messages mention. A group is read when an event mentions it. An event with `reloadGroups` says that its
 * members have changed, so it is read again.
 */
export function createKnownGroups({ db, maxGroups = 1_000 }: { db: Database; maxGroups?: number }) {
  const groups = new Map<string, ReadonlySet<string>>()
  /** Increases whenever groups are forgotten, because the result of a query at that moment may be outdated. */
  let changes = 0
  let loading = 0

  const isKnown = ({ routing }: Routed) =>
    routing.to !== 'channel' || !routing.mentions || groupIdsIn(routing.mentions).every((id) => groups.has(id))

  /** Reads the groups that these events mention and that are not in memory. @throws when the database does not answer. */
  async function load(events: readonly Routed[]): Promise<void> {
    loading++
    try {
      for (;;) {
        const mentioned = events.flatMap(({ routing }) =>
          routing.to === 'channel' ? groupIdsIn(routing.mentions) : [],
        )
        const wanted = [...new Set(mentioned)].filter((id) => !groups.has(id))
        if (wanted.length === 0) return
        const changesBefore = changes
        const found = await readMembers(db, wanted)
        if (changesBefore !== changes) continue
        for (const id of wanted) groups.set(id, found.get(id) ?? new Set())
      }
    } finally {
      loading--
    }
  }

  /** Everybody who is mentioned by name or through a group. A returned set never changes: a new set replaces it. */
  function mentionedBy(mentions: readonly string[]): ReadonlySet<string> {
    const mentioned = groupIdsIn(mentions).map((id) => groups.get(id) ?? nobody)
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

  /** Forgets the oldest groups when there are too many. It forgets none while events wait for `load`, because they need the groups. */
  function trim() {
    if (loading > 0) return
    for (const id of groups.keys()) {
      if (groups.size <= maxGroups) return
      groups.delete(id)
    }
  }

  return { isKnown, load, mentionedBy, forget, trim }
}

const nobody: ReadonlySet<string> = new Set()

/** The members come as one text, because the driver parses arrays slowly and a group may have thousands. Served by the primary key. */
async function readMembers(db: Database, groupIds: string[]): Promise<Map<string, ReadonlySet<string>>> {
  const rows = await db
    .selectFrom('groupMembers')
    .select(['groupId', sql<string>`string_agg(user_id::text, ',')`.as('members')])
    .where('groupId', '=', anyOf(groupIds))
    .groupBy('groupId')
    .execute()
  return new Map(rows.map(({ groupId, members }) => [groupId, new Set(members.split(','))]))
}
