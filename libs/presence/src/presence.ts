import { type Presence, type PresenceStatus, sessionEnded } from '@parley/contract'
import type { Connection, Reader } from '@parley/database'
import { sql } from 'kysely'

type Pool = Connection['pool']

/** Times of presence, in milliseconds. PostgreSQL's clock is used throughout, so the clocks of the nodes do not matter. */
interface PresenceTimes {
  /** The time from the end of the last stream until the person is offline. */
  graceMs: number
  /** A node that has not reported for this time counts as dead. */
  nodeLifeMs: number
}

/** The report of a node about the streams of one user. */
interface StreamClaim {
  userId: string
  /** Streams open on the node. */
  open: number
  /** Number of further streams that the user wants to open. */
  asked: number
}

export interface PresenceChange extends Presence {
  /** Number of the transaction that made the change. */
  changedBy: number
}

/**
 * Sets the status that a user chose. It holds until they change it or their last stream closes. One statement, so a
 * stream that opens or closes at the same time sees either all of the change or nothing. It waits for a deactivation of
 * the same moment, because `endChosenPresence` would not see the status. @throws ApiError 401 when the user was deactivated or removed.
 */
export async function setPresence(db: Reader, userId: string, status: PresenceStatus): Promise<Presence> {
  const { rows } = await sql<Presence>`
    insert into presence as p (user_id, set_by_hand, shown, last_seen, changed_by)
    select id, ${status}, ${status}, now_ms(), pg_current_xact_id()
    from users where id = ${userId} and removed_at is null and deactivated_at is null for share
    on conflict (user_id) do update set set_by_hand = excluded.shown, shown = excluded.shown,
      last_seen = excluded.last_seen, offline_at = null,
      changed_by = case when p.shown = excluded.shown then p.changed_by else excluded.changed_by end
    returning user_id, shown as status, last_seen`.execute(db)
  if (!rows[0]) throw sessionEnded()
  return rows[0]
}

/**
 * Ends the status that a user chose, because they have lost access. Without a stream they are offline the next time
 * that a node calls `endPresence`. With streams they are offline a grace period after the last one closes, as always.
 */
export async function endChosenPresence(db: Reader, userId: string): Promise<void> {
  await sql`
    update presence set offline_at = now_ms()
    where user_id = ${userId} and set_by_hand is not null and streams = '{}'`.execute(db)
}

/** Rows are locked in the order of their ids, as in every transaction. */
const enterStatement = {
  name: 'parley_presence_enter',
  text: `
    with node as (
      insert into presence_nodes (id, seen_at) values ($1, now_ms())
      on conflict (id) do update set seen_at = excluded.seen_at returning xmax <> 0 as was_known
    ), claimed as materialized (
      select * from unnest($2::uuid[], $3::int[], $4::int[]) as c(user_id, open, asked)
    )
    insert into presence as p (user_id, streams, shown, last_seen, changed_by)
    select user_id, case when n > 0 then jsonb_build_object($1::text, n) else '{}' end,
      case when n > 0 then 'online' else 'offline' end, now_ms(), pg_current_xact_id()
    from (select user_id, greatest(open, least(open + asked, $5)) as n from claimed) c order by user_id
    on conflict (user_id) do update set (streams, shown, last_seen, offline_at, changed_by) = (
      select next.streams,
        next.shown,
        case when (next.streams = '{}') = (p.streams = '{}') then p.last_seen else now_ms() end,
        case when next.streams <> '{}' then null
          when p.streams <> '{}' then now_ms() + $6
          else p.offline_at end,
        case when next.shown = p.shown then p.changed_by else pg_current_xact_id() end
      from (
        select granted.streams,
          case when granted.streams = '{}' then p.shown else coalesce(p.set_by_hand, 'online') end as shown
        from (
          select (p.streams - $1) || case when n > 0 then jsonb_build_object($1::text, n) else '{}' end as streams
          from (
            select greatest(c.open, least(c.open + c.asked, $5 - coalesce((
              select sum(elsewhere.n::int) from jsonb_each_text(p.streams - $1) as elsewhere(node, n)), 0))) as n
            from claimed c where c.user_id = p.user_id
          ) room
        ) granted
      ) next
    )
    returning p.user_id, coalesce((p.streams ->> $1)::int, 0) as streams, (select was_known from node) as was_known`,
}

/**
 * Enters the streams that users have on a node, and keeps the node alive. Further streams are granted up to
 * `maxStreams` of a user on all nodes. The limit is exact, because a user has one row. Streams of a dead
 * node count until `removeDeadNodes`: the statement may not see yet that a node has reported again. `granted` is the number of
 * streams that each user may have on this node. `wasKnown` is false when the node counted as dead. Then all its open
 * streams must be entered again.
 */
export async function enterStreams(
  pool: Pool,
  nodeId: string,
  claims: readonly StreamClaim[],
  { maxStreams, graceMs }: Pick<PresenceTimes, 'graceMs'> & { maxStreams: number },
): Promise<{ granted: Map<string, number>; wasKnown: boolean }> {
  const { rows } = await pool.query<{ user_id: string; streams: number; was_known: boolean }>({
    ...enterStatement,
    values: [
      nodeId,
      claims.map(({ userId }) => userId),
      claims.map(({ open }) => open),
      claims.map(({ asked }) => asked),
      maxStreams,
      graceMs,
    ],
  })
  return {
    granted: new Map(rows.map(({ user_id, streams }) => [user_id, streams])),
    wasKnown: rows.every(({ was_known }) => was_known),
  }
}

/** Keeps a node alive. Returns false when the node counted as dead. Then all its open streams must be entered again. */
export async function keepNode(pool: Pool, nodeId: string): Promise<boolean> {
  const { rows } = await pool.query<{ was_known: boolean }>(
    `insert into presence_nodes (id, seen_at) values ($1, now_ms())
     on conflict (id) do update set seen_at = excluded.seen_at
     returning xmax <> 0 as was_known`,
    [nodeId],
  )
  return rows[0]!.was_known
}

/**
 * Removes dead nodes, and the `leaving` one, with their streams. Users without other streams are offline a grace period
 * after the last report of the node. When a dead node is found late, for instance after an outage of PostgreSQL, its
 * users have some more time, so that it can enter its streams again.
 */
export async function removeDeadNodes(
  pool: Pool,
  { graceMs, nodeLifeMs }: PresenceTimes,
  leaving = '',
): Promise<number> {
  const { rowCount } = await pool.query(
    `with dead as (
       delete from presence_nodes where seen_at < now_ms() - $1 or id = $3 returning id, seen_at
     ), nodes as materialized (
       select array_agg(id) as ids, max(seen_at) as seen_at from dead
     ), theirs as materialized (
       select p.user_id from presence p, nodes where p.streams ?| nodes.ids order by p.user_id for update of p
     )
     update presence p set streams = p.streams - nodes.ids,
       last_seen = case when p.streams - nodes.ids = '{}' then greatest(nodes.seen_at, p.last_seen) else p.last_seen end,
       offline_at = case when p.streams - nodes.ids = '{}' then greatest(nodes.seen_at + $2, now_ms() + $1 / 2) end
     from nodes, theirs where p.user_id = theirs.user_id`,
    [nodeLifeMs, graceMs, leaving],
  )
  return rowCount ?? 0
}

/** Shows users as offline when their grace period is over. The status that they chose ends too. */
export async function endPresence(pool: Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `with due as materialized (
       select user_id from presence where offline_at <= now_ms() order by user_id for update
     )
     update presence p set shown = 'offline', set_by_hand = null, offline_at = null,
       changed_by = case when p.shown = 'offline' then p.changed_by else pg_current_xact_id() end
     from due where p.user_id = due.user_id and p.offline_at <= now_ms()`,
  )
  return rowCount ?? 0
}

const changesStatement = {
  name: 'parley_presence_changes',
  text: `
    with seen as materialized (select pg_current_snapshot() as at)
    select pg_snapshot_xmin(seen.at)::text::bigint as xmin, c.*
    from seen left join lateral (
      select p.user_id, p.shown, p.last_seen, p.changed_by::text::bigint as changed_by
      from presence p join users u on u.id = p.user_id and coalesce(u.removed_at, 0) = 0
      where p.changed_by >= $1::text::xid8 and p.changed_by < pg_snapshot_xmax(seen.at)
      order by p.changed_by
    ) c on true`,
}

/**
 * Users whose presence changed in transactions from number `since` on, with their current presence, and the number from
 * which to continue. Every transaction below that number has ended, so no change is missed, even when its transaction
 * commits late. Some changes are returned twice. Higher transaction numbers, which a restored backup can contain, are
 * ignored. Without `since` only the number is returned.
 */
export async function findPresenceChanges(
  pool: Pool,
  since: number | undefined,
): Promise<{ changes: PresenceChange[]; next: number }> {
  const { rows } = await pool.query<ChangeRow>({ ...changesStatement, values: [since ?? aboveAllNumbers] })
  const changes = rows.flatMap(({ user_id, shown, last_seen, changed_by }) =>
    user_id === null ? [] : [{ userId: user_id, status: shown, lastSeen: last_seen, changedBy: changed_by }],
  )
  return { changes, next: rows[0]!.xmin }
}

/** Above the number of any transaction. */
const aboveAllNumbers = '9223372036854775807'

interface ChangeRow {
  xmin: number
  user_id: string | null
  shown: PresenceStatus
  last_seen: number
  changed_by: number
}
