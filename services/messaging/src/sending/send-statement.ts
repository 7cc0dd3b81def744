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

/** The parameter with the time of the statement, in epoch milliseconds. The arrays of the fields are the parameters after it. */
const nowParameter = '$1'

type Batch = readonly Sending[]

/** A field of the sends, as a column of the statement. */
interface Field {
  name: string
  /** The type in PostgreSQL. `json` is text whose array is joined with `separator`, which is cheaper than to escape it. */
  type: 'uuid' | 'text' | 'bigint' | 'boolean' | 'json'
  /** The array of all sends, as a parameter. */
  values: (batch: Batch) => string | null
}

/** Separates the JSON texts of a batch. JSON never contains it unescaped. */
const separator = '\x1e'

/** What the statement gets of each send. `unnest` adds `n`, the number of the send in the batch, from 1. */
const fields: readonly Field[] = [
  { name: 'id', type: 'uuid', values: (batch) => plainArray(batch, ({ id }) => id) },
  { name: 'channel_id', type: 'uuid', values: (batch) => plainArray(batch, ({ channelId }) => channelId) },
  { name: 'session_id', type: 'uuid', values: (batch) => plainArray(batch, ({ sessionId }) => sessionId) },
  { name: 'user_id', type: 'uuid', values: (batch) => plainArray(batch, ({ userId }) => userId) },
  { name: 'content', type: 'text', values: (batch) => textArray(batch, ({ content }) => content) },
  { name: 'tail', type: 'json', values: (batch) => batch.map(({ tail }) => tail).join(separator) },
  { name: 'created_at', type: 'bigint', values: (batch) => plainArray(batch, ({ createdAt }) => createdAt) },
  { name: 'direct', type: 'boolean', values: (batch) => flagArray(batch, ({ direct }) => direct) },
  { name: 'quoted', type: 'uuid', values: (batch) => optionalArray(batch, ({ quotedMessageId }) => quotedMessageId) },
  {
    name: 'mentions',
    type: 'text',
    values: (batch) => optionalArray(batch, ({ mentions }) => (mentions.length > 0 ? listOf(mentions) : null)),
  },
  { name: 'trace', type: 'text', values: (batch) => optionalArray(batch, ({ trace }) => trace) },
  { name: 'key', type: 'text', values: (batch) => optionalArray(batch, ({ key }) => key) },
  { name: 'hash', type: 'text', values: (batch) => optionalArray(batch, ({ requestHash }) => requestHash) },
  { name: 'stays_outside', type: 'boolean', values: (batch) => flagArray(batch, ({ staysOutside }) => staysOutside) },
  { name: 'links', type: 'boolean', values: (batch) => flagArray(batch, ({ content }) => mayHaveLinks(content)) },
]

const arrayOf = (type: Field['type'], parameter: string) =>
  type === 'json' ? `string_to_array(${parameter}, '${separator}')` : `${parameter}::${type}[]`

/**
 * One statement, and so one transaction, for many sends. Each send has its own `outcome`. A send that is not `stored` changes nothing,
 * so `last_seq` increases by exactly the number of stored messages.
 *
 * - `asked` reads the caller, the channel and an earlier use of the key, as of the statement's start. The try-lock on the key is held
 *   until the commit: a second request with the key is refused with 409 meanwhile.
 * - `locked` takes the channels' locks in the order of their ids. If it had to wait, it reads newer rows than `asked` did.
 * - `judged` therefore does not store a send whose rights may have changed meanwhile (`moved`: it is retried). Joining or leaving a public
 *   channel changes only the rights of guests, so it does not make the sends of others `moved`.
 * - `judged` also assigns `seq` and `ts`, starting from the locked row. `ts` is the time of creation in microseconds, but always later than
 *   the `ts` of the previous message. So it is `n` plus the largest of `last_ts` and of all `created_at - n` up to this send: that
 *   value never decreases, and `n` grows.
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
        case when k.created_at <= ${nowParameter} - ${keyLifetimeMs} then 'expired'
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
      select ${fields.map(({ name, type }, index) => `${arrayOf(type, `$${index + 2}`)} as ${name}_array`).join(', ')}
      offset 0
    ) arrays, unnest(${fields.map(({ name }) => `${name}_array`).join(', ')})
      with ordinality as t (${fields.map(({ name }) => name).join(', ')}, n)
    left join lateral (
      select u.id, u.user_name, u.is_bot, u.role, s.must_enrol from sessions s join users u on u.id = s.user_id
      where s.id = t.session_id and coalesce(s.ended_at, 0) = 0 and s.expires_at > ${nowParameter} and u.id = t.user_id
        and coalesce(u.removed_at, 0) = 0 and ${isActiveText('u', nowParameter)}
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
  select author_id, key, decode(hash, 'hex'), message, ${nowParameter} from accepted where key is not null
), ${storeAccepted}
select n::int, outcome, seq, author, case outcome when 'repeated' then answer end from judged`
}

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

/** The query: one array per field, as text that the driver does not encode again. */
export const sendQuery = (statement: SendStatement, batch: readonly Sending[], now: number) =>
  withTimeout({
    ...statement,
    values: [now, ...fields.map(({ values }) => values(batch))],
    rowMode: 'array' as const,
  })

/** PostgreSQL ends a statement after 30 s, so a connection that does not respond for 35 s is broken. */
export const withTimeout = <Query extends object>(query: Query) => ({ ...query, query_timeout: 35_000 })

/** A PostgreSQL array literal of values that need no quotes. */
function plainArray(batch: Batch, pick: (each: Sending) => string | number | null): string {
  let literal = '{'
  for (let i = 0; i < batch.length; i++) literal += (i === 0 ? '' : ',') + (pick(batch[i]!) ?? 'NULL')
  return `${literal}}`
}

function textArray(batch: Batch, pick: (each: Sending) => string | null): string {
  return plainArray(batch, (each) => quotedText(pick(each)))
}

/** Null when no send of the batch has a value, because `unnest` fills missing values with nulls. */
function optionalArray(batch: Batch, pick: (each: Sending) => string | null): string | null {
  return batch.some((each) => pick(each) !== null) ? textArray(batch, pick) : null
}

/** Like `optionalArray`: the statement reads null as false. */
const flagArray = (batch: Batch, pick: (each: Sending) => boolean) =>
  optionalArray(batch, (each) => (pick(each) ? 'true' : null))

const listOf = (texts: readonly string[]) => `{${texts.map(quotedText).join(',')}}`

const quotedText = (text: string | null) =>
  text === null ? null : special.test(text) ? `"${text.replace(everySpecial, '\\$&')}"` : `"${text}"`

const special = /["\\]/
const everySpecial = /["\\]/g
