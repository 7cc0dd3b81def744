import { canRead } from '@parley/access'
import { keyLifetimeMs } from '@parley/database'
import { createQueryId, PostgresQueryCompiler, sql } from 'kysely'
import type { Sending } from './sending.ts'

/**
 * One statement, and thereby one transaction, for many sends. Every row is judged by itself (`outcome`); what is not
 * `stored` leaves no trace, so `last_seq` moves by exactly the number of messages stored.
 *
 * - `asked` reads who asks, where, and whether the key was used before, all of it as of the statement's start. The
 *   try-lock on the key is held until the commit: another process that finds it taken answers 409.
 * - `locked` takes the channels' locks in id order. What it reads of them is newer than the rest when it had to wait.
 * - `judged` therefore stores nothing where membership has moved since (`moved`: to be asked again), and counts `seq`
 *   from what the locked row says.
 * - `recorded` draws outbox ids under those locks, in the order of `seq`: the relay relies on it.
 *
 * A key that another process stored after this statement began violates the primary key of `idempotency_keys`: the
 * statement is aborted and, run again, finds it. The `(select …)` around the arrays hides their lengths from the
 * planner, so that it keeps one plan for every size of batch; `offset 0` keeps each look-up a look-up by index, whatever
 * the statistics of a young or fast-growing table make the planner believe; for `coalesce` see `isUnset`.
 */
function sendStatement(locking: string): string {
  return `
with asked as materialized (
  select t.*, u.user_name, c.members_version, c.kind, k.answer,
    case
      when u.id is null then 'unauthorized'
      when k.user_id is not null then
        case when k.created_at <= $16 - ${keyLifetimeMs} then 'outlived'
             when k.request_hash <> decode(t.hash, 'hex') then 'reused'
             else 'repeated' end
      when c.id is null then 'unknown'
      when not ${senderCanRead} then 'forbidden'
      when c.kind = 'direct' and exists (
        select from channel_members m, lateral (
          select from users o where o.id = m.user_id and o.removed_at is not null offset 0) gone
        where m.channel_id = c.id offset 0) then 'departed'
      when t.quoted is not null and not exists (
        select from messages q where q.id = t.quoted and q.channel_id = c.id and q.deleted_at is null offset 0) then 'unquotable'
      when t.key is not null and not pg_try_advisory_xact_lock(hashtextextended(t.user_id || t.key, 0)) then 'running'
    end as refusal
  from unnest(
      (select $1::uuid[]), (select $2::uuid[]), (select $3::uuid[]), (select $4::uuid[]), (select $5::text[]),
      (select string_to_array($6, '${separator}')), (select $7::bigint[]), (select $8::boolean[]),
      (select $9::uuid[]), (select $10::text[]), (select $11::text[]), (select $12::text[]), (select $13::text[]),
      (select $14::text[]), (select $15::text[])
    ) with ordinality as t (id, channel_id, session_id, user_id, content, tail, created_at, direct,
      quoted, attachments, images, mentions, trace, key, hash, n)
    left join lateral (
      select u.id, u.user_name, u.is_admin from sessions s join users u on u.id = s.user_id
      where s.id = t.session_id and coalesce(s.ended_at, 0) = 0 and s.expires_at > $16 and u.id = t.user_id
        and coalesce(u.removed_at, 0) = 0
      offset 0
    ) u on true
    left join lateral (
      select c.id, c.kind, c.members_version from channels c
      where c.id = t.channel_id and c.deleted_at is null and (c.kind = 'direct') = coalesce(t.direct, false)
      offset 0
    ) c on true
    left join lateral (
      select k.user_id, k.created_at, k.request_hash, k.answer from idempotency_keys k
      where k.user_id = t.user_id and k.key = t.key
      offset 0
    ) k on true
), locked as materialized (
  select id, last_seq, members_version from channels
  where id = any(array(select channel_id from asked where refusal is null)) and deleted_at is null
  order by id ${locking}
), judged as materialized (
  select j.*, j.last_seq + row_number() over (partition by j.channel_id, j.outcome order by j.n) as seq
  from (
    select asked.*, locked.last_seq, coalesce(refusal,
      case when locked.id is null then 'busy'
           when locked.members_version <> asked.members_version then 'moved'
           else 'stored' end) as outcome
    from asked left join locked on locked.id = asked.channel_id
  ) j
), told as materialized (
  select j.*, '{"id":"' || id || '","seq":' || seq || ',"author":{"id":"' || user_id || '","userName":'
    || to_json(user_name) || '},' || tail as message
  from judged j where outcome = 'stored'
), moved as (
  update channels set last_seq = top.seq
  from (select channel_id, max(seq) as seq from told group by channel_id) top
  where channels.id = top.channel_id and channels.id = any(array(select channel_id from told))
), stored as (
  insert into messages (id, channel_id, seq, author_id, content, attachments, images, quoted_message_id, mentions, created_at)
  select id, channel_id, seq, user_id, content, attachments::jsonb, images::text[], quoted, mentions::text[], created_at
  from told
), kept as (
  insert into idempotency_keys (user_id, key, request_hash, answer, created_at)
  select user_id, key, decode(hash, 'hex'), message, $16 from told where key is not null
), recorded as (
  insert into outbox (id, slot, routing, event, trace, created_at)
  select nextval('outbox_ids'), ring.slot, e.routing, e.event, e.trace, now_ms()
  from outbox_ring ring, (
    select trace,
      case kind when 'direct'
        then '{"to":"users","users":' || people || '}'
        else '{"to":"channel","channel":"' || channel_id || '","version":' || members_version || '}' end as routing,
      case kind when 'direct'
        then '{"type":"NEW_DM_MESSAGE","payload":' || left(message, -1) || ',"participants":' || people || '}}'
        else '{"type":"NEW_MESSAGE","payload":' || message || '}' end as event
    from told left join lateral (
      select '[' || string_agg('"' || m.user_id || '"', ',' order by m.user_id) || ']' as people
      from channel_members m where told.kind = 'direct' and m.channel_id = told.channel_id
    ) participants on true
    order by told.channel_id, told.seq
  ) e
)
select n::int, outcome, seq, user_name, case outcome when 'repeated' then answer end from judged`
}

const { sql: senderCanRead } = new PostgresQueryCompiler().compileQuery(
  canRead('c', { userId: sql.ref('u.id'), isAdmin: sql.ref('u.is_admin') }).toOperationNode(),
  createQueryId(),
)

/** Stands between the JSON texts of a batch: JSON never contains it unescaped. */
const separator = '\x1e'

export interface SendStatement {
  /** What it is prepared as. */
  name: string
  text: string
}

/** Never waits for a channel: what somebody else has locked comes back as `busy`. */
export const sendWithoutWaiting: SendStatement = { name: 'send', text: sendStatement('for no key update skip locked') }
/** Waits for the channels. */
export const sendWaiting: SendStatement = { name: 'send-waiting', text: sendStatement('for no key update') }

export type Outcome =
  | 'stored'
  | 'repeated'
  | 'unauthorized'
  | 'unknown'
  | 'forbidden'
  | 'departed'
  | 'unquotable'
  | 'reused'
  | 'running'
  | 'outlived'
  | 'busy'
  | 'moved'

/** `n` counts from 1, in the order of the batch; rows come in any order. */
export type SendRow = [n: number, outcome: Outcome, seq: number | null, userName: string | null, answer: string | null]

/** The statement's parameters: one array per column, as text that needs no further encoding. */
export function sendValues(batch: readonly Sending[], now: number): (string | number | null)[] {
  return [
    plainArray(batch, (each) => each.id),
    plainArray(batch, (each) => each.channelId),
    plainArray(batch, (each) => each.sessionId),
    plainArray(batch, (each) => each.userId),
    textArray(batch, (each) => each.content),
    batch.map((each) => each.tail).join(separator),
    plainArray(batch, (each) => each.createdAt),
    optionalArray(batch, (each) => (each.direct ? 'true' : null)),
    optionalArray(batch, (each) => each.quotedMessageId),
    optionalArray(batch, (each) => each.attachments),
    optionalArray(batch, (each) => each.images),
    optionalArray(batch, (each) => each.mentions),
    optionalArray(batch, (each) => each.trace),
    optionalArray(batch, (each) => each.key),
    optionalArray(batch, (each) => each.requestHash),
    now,
  ]
}

/** A PostgreSQL array literal of values that need no quotes. */
function plainArray(batch: readonly Sending[], pick: (each: Sending) => string | number | null): string {
  let literal = '{'
  for (let i = 0; i < batch.length; i++) literal += (i === 0 ? '' : ',') + (pick(batch[i]!) ?? 'NULL')
  return `${literal}}`
}

function textArray(batch: readonly Sending[], pick: (each: Sending) => string | null): string {
  return plainArray(batch, (each) => quoted(pick(each)))
}

/** Null when nobody in the batch has a value: `unnest` fills up with nulls. */
function optionalArray(batch: readonly Sending[], pick: (each: Sending) => string | null): string | null {
  return batch.some((each) => pick(each) !== null) ? textArray(batch, pick) : null
}

const quoted = (text: string | null) =>
  text === null ? null : special.test(text) ? `"${text.replace(everySpecial, '\\$&')}"` : `"${text}"`

const special = /["\\]/
const everySpecial = /["\\]/g

/** A PostgreSQL array literal of texts, to be cast to `text[]`. */
export const textArrayLiteral = (texts: readonly string[]) => `{${texts.map(quoted).join(',')}}`
