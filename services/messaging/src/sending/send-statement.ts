import { canRead } from '@parley/access'
import { isActiveText, keyLifetimeMs } from '@parley/database'
import { createQueryId, PostgresQueryCompiler, sql } from 'kysely'
import { mayHaveLinks } from '../previews/link-jobs.ts'
import { messageJson, personJson, storeAccepted } from './new-message.ts'
import type { Sending } from './sending.ts'

const { sql: senderCanRead } = new PostgresQueryCompiler().compileQuery(
  canRead('c', { userId: sql.ref('u.id'), role: sql.ref('u.role') }).toOperationNode(),
  createQueryId(),
)

/**
 * One statement, and so one transaction, for many sends. Each send has its own `outcome`. A send that is not `stored` changes nothing,
 * so `last_seq` increases by exactly the number of stored messages.
 *
 * - `asked` reads the caller, the channel and an earlier use of the key, as of the statement's start. The try-lock on the key is held
 *   until the commit: a second request with the key is refused with 409 meanwhile.
 * - `locked` takes the channels' locks in the order of their ids. If it had to wait, it reads newer rows than `asked` did.
 * - `judged` therefore does not store a send whose rights may have changed meanwhile (`moved`: it is retried). It assigns `seq` and
 *   `ts`, starting from the locked row. `ts` is the time of creation, but always later than the `ts` of the previous message. Joining
 *   or leaving a public channel changes only the rights of guests, so it does not make the sends of others `moved`.
 * - An author who is not a member of a public channel gets `unjoined`, and joins it first (`joining.ts`).
 * - `storeAccepted` writes messages and events.
 *
 * When another process stores the same key after this statement began, the statement violates the primary key of `idempotency_keys` and
 * is rolled back. It finds the key when it runs again. `offset 0` after the arrays hides their lengths from the planner, so that one plan
 * serves batches of every size. Elsewhere it makes the planner use an index, even when the statistics of a new or fast-growing table
 * are wrong. For `coalesce` see `isUnset`.
 */
function sendStatement(locking: string): string {
  return `
with asked as materialized (
  select t.*, ${personJson('u')} as author, u.role, c.members_version, c.kind, k.answer,
    case
      when u.id is null then 'unauthorized'
      when u.must_enrol then 'unenrolled'
      when k.user_id is not null then
        case when k.created_at <= $15 - ${keyLifetimeMs} then 'expired'
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
      when c.kind = 'public' and not coalesce(t.stays_outside, false) and not exists (
        select from channel_members m where m.channel_id = c.id and m.user_id = u.id offset 0) then 'unjoined'
    end as refusal
  from (
      select $1::uuid[] as ids, $2::uuid[] as channel_ids, $3::uuid[] as session_ids, $4::uuid[] as user_ids, $5::text[] as contents,
        string_to_array($6, '${separator}') as tails, $7::bigint[] as moments, $8::boolean[] as directs, $9::uuid[] as quotes,
        $10::text[] as mention_lists, $11::text[] as traces, $12::text[] as keys, $13::text[] as hashes, $14::boolean[] as outsides,
        $16::boolean[] as link_flags
      offset 0
    ) arrays, unnest(ids, channel_ids, session_ids, user_ids, contents, tails, moments, directs, quotes, mention_lists, traces, keys, hashes,
      outsides, link_flags
    ) with ordinality as t (id, channel_id, session_id, user_id, content, tail, created_at, direct,
      quoted, mentions, trace, key, hash, stays_outside, links, n)
    left join lateral (
      select u.id, u.user_name, u.is_bot, u.role, s.must_enrol from sessions s join users u on u.id = s.user_id
      where s.id = t.session_id and coalesce(s.ended_at, 0) = 0 and s.expires_at > $15 and u.id = t.user_id
        and coalesce(u.removed_at, 0) = 0 and ${isActiveText('u', '$15')}
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
  select id, kind, last_seq, last_ts, members_version from channels
  where id = any(array(select channel_id from asked where refusal is null)) and deleted_at is null
  order by id ${locking}
), judged as materialized (
  select j.*, last_seq + row_number() over earlier as seq,
    n + greatest(coalesce(last_ts, 0), max(created_at * 1000 - n) over earlier) as ts
  from (
    select asked.*, locked.last_seq, locked.last_ts, locked.members_version as version, coalesce(refusal,
      case when locked.id is null then 'busy'
           when locked.members_version <> asked.members_version
            and ((asked.kind, locked.kind) <> ('public', 'public') or asked.role = 'guest') then 'moved'
           else 'stored' end) as outcome
    from asked left join locked on locked.id = asked.channel_id
  ) j
  window earlier as (partition by channel_id, outcome order by n)
), accepted as not materialized (
  select m.*, ${messageJson} as message
  from (
    select id, channel_id, kind, version as members_version, null::uuid as thread_id, seq, ts, user_id as author_id,
      null::uuid as webhook_id, author, content, null::jsonb as blocks, null::jsonb as shown_as,
      null::jsonb as attachments,
      null::text[] as images, null::jsonb as image_sizes, quoted as quoted_message_id, mentions::text[] as mentions, created_at, tail,
      null::text as parent, null::text[] as parent_mentions, coalesce(links, false) as links, trace, key, hash
    from judged where outcome = 'stored'
  ) m
), counted as (
  update channels set last_seq = top.seq, last_ts = top.ts
  from (select channel_id, max(seq) as seq, max(ts) as ts from accepted group by channel_id) top
  where channels.id = top.channel_id and channels.id = any(array(select channel_id from accepted))
), remembered as (
  insert into idempotency_keys (user_id, key, request_hash, answer, created_at)
  select author_id, key, decode(hash, 'hex'), message, $15 from accepted where key is not null
), ${storeAccepted}
select n::int, outcome, seq, author, case outcome when 'repeated' then answer end from judged`
}

/** Separates the JSON texts of a batch. JSON never contains it unescaped. */
const separator = '\x1e'

export interface SendStatement {
  /** The name of the prepared statement. */
  name: string
  text: string
}

/** Never waits for a channel's lock: when another transaction holds it, the outcome is `busy`. */
export const sendWithoutWaiting: SendStatement = { name: 'send', text: sendStatement('for no key update skip locked') }
/** Waits for the channels' locks. */
export const sendWaiting: SendStatement = { name: 'send-waiting', text: sendStatement('for no key update') }

export type SendOutcome =
  | 'stored'
  | 'repeated'
  | 'unauthorized'
  | 'unenrolled'
  | 'unknown'
  | 'forbidden'
  | 'departed'
  | 'unquotable'
  | 'reused'
  | 'running'
  | 'expired'
  | 'unjoined'
  | 'busy'
  | 'moved'

/** `n` is the number of the send in the batch, from 1. The rows come in any order. */
export type SendRow = [
  n: number,
  outcome: SendOutcome,
  seq: number | null,
  author: string | null,
  answer: string | null,
]

/** The query: one array per column, as text that the driver does not encode again. */
export const sendQuery = (statement: SendStatement, batch: readonly Sending[], now: number) =>
  withTimeout({
    ...statement,
    values: [
      plainArray(batch, (each) => each.id),
      plainArray(batch, (each) => each.channelId),
      plainArray(batch, (each) => each.sessionId),
      plainArray(batch, (each) => each.userId),
      textArray(batch, (each) => each.content),
      batch.map((each) => each.tail).join(separator),
      plainArray(batch, (each) => each.createdAt),
      optionalArray(batch, (each) => (each.direct ? 'true' : null)),
      optionalArray(batch, (each) => each.quotedMessageId),
      optionalArray(batch, ({ mentions }) => (mentions.length > 0 ? arrayOf(mentions) : null)),
      optionalArray(batch, (each) => each.trace),
      optionalArray(batch, (each) => each.key),
      optionalArray(batch, (each) => each.requestHash),
      optionalArray(batch, (each) => (each.staysOutside ? 'true' : null)),
      now,
      optionalArray(batch, (each) => (mayHaveLinks(each.content) ? 'true' : null)),
    ],
    rowMode: 'array' as const,
  })

/** PostgreSQL ends a statement after 30 s, so a connection that does not respond for 35 s is broken. */
export const withTimeout = <Query extends object>(query: Query) => ({ ...query, query_timeout: 35_000 })

/** A PostgreSQL array literal of values that need no quotes. */
function plainArray(batch: readonly Sending[], pick: (each: Sending) => string | number | null): string {
  let literal = '{'
  for (let i = 0; i < batch.length; i++) literal += (i === 0 ? '' : ',') + (pick(batch[i]!) ?? 'NULL')
  return `${literal}}`
}

function textArray(batch: readonly Sending[], pick: (each: Sending) => string | null): string {
  return plainArray(batch, (each) => quotedText(pick(each)))
}

/** Null when no send of the batch has a value, because `unnest` fills missing values with nulls. */
function optionalArray(batch: readonly Sending[], pick: (each: Sending) => string | null): string | null {
  return batch.some((each) => pick(each) !== null) ? textArray(batch, pick) : null
}

const arrayOf = (texts: readonly string[]) => `{${texts.map(quotedText).join(',')}}`

const quotedText = (text: string | null) =>
  text === null ? null : special.test(text) ? `"${text.replace(everySpecial, '\\$&')}"` : `"${text}"`

const special = /["\\]/
const everySpecial = /["\\]/g
