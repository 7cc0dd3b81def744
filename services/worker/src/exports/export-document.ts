import { type Connection, customStatusText, type PooledClient } from '@parley/database'
import { lastReplier, webhookAuthor } from '@parley/messages'

export interface Progress {
  /** Records that are in the document so far. */
  done: number
  /** The largest possible number of records. At the end `done` is exact. */
  total: number
}

/**
 * The export document (`ExportDocument` of the admin service) as JSON text, in pieces of some hundred records, with
 * each record on a line of its own. It is read from one snapshot, in a read-only transaction that lasts until the last
 * piece is taken. Only one piece at a time is in memory. The document has no deleted records, no secrets and no bytes
 * of files.
 * @throws the database's error. The text so far is then incomplete.
 */
export async function* exportDocument(
  pool: Connection['pool'],
  onProgress: (progress: Progress) => void | Promise<void> = () => {},
): AsyncGenerator<string, void, void> {
  const client = await pool.connect()
  let isOver = false
  try {
    const exportedAt = await beginSnapshot(client)
    const progress = { done: 0, total: await estimateRecords(client) }
    await onProgress(progress)
    yield `{"exportedAt":${exportedAt},\n"serverSettings":${await findSettings(client)}`
    for (const section of sections) {
      yield `,\n"${section.name}":[`
      let separator = '\n'
      for await (const records of readSection(client, section)) {
        yield separator + records.join(',\n')
        separator = ',\n'
        progress.done += records.length
        await onProgress(progress)
      }
      yield '\n]'
    }
    yield '}\n'
    await client.query('commit')
    isOver = true
  } finally {
    // A connection with an open snapshot must not go back to the pool.
    client.release(!isOver)
  }
}

interface Section {
  /** The key in the document. */
  name: string
  /** Selects `json`, the text of one record. PostgreSQL builds it, so that nothing is parsed and serialised here. */
  sql: string
}

/** The id of a channel or conversation as clients know it. */
const wireId = `case c.kind when 'direct' then 'dm:' || c.id else c.id::text end`

/**
 * The records of the document, oldest first. They include removed people, as members and authors. A message is as the
 * API returns it (`selectMessages` in libs/messages). A test compares them.
 */
const sections: readonly Section[] = [
  {
    name: 'users',
    sql: `
      select json_build_object('id', u.id, 'userName', u.user_name, 'displayName', u.display_name,
        'title', u.title, 'email', u.email, 'role', u.role, 'isAdmin', u.is_admin, 'isBot', u.is_bot, 'isActive', u.deactivated_at is null,
        'createdAt', u.created_at, 'removedAt', u.removed_at, 'avatarVersion', u.avatar_version,
        'expiresAt', case when u.role = 'guest' then u.guest_expires_at end,
        'customStatus', ${customStatusText})::text as json
      from users u order by u.id`,
  },
  {
    name: 'channels',
    sql: `
      select json_build_object('id', c.id, 'name', c.name, 'topic', c.topic, 'isPrivate', c.kind = 'private',
        'members', array(
          select m.user_id from channel_members m where m.channel_id = c.id
          order by m.user_id <> c.created_by, m.joined_at, m.user_id),
        'createdBy', c.created_by, 'createdAt', c.created_at, 'updatedAt', c.updated_at)::text as json
      from channels c where c.kind <> 'direct' and c.deleted_at is null order by c.id`,
  },
  {
    name: 'conversations',
    sql: `
      select json_build_object('id', ${wireId},
        'participants', array(select m.user_id from channel_members m where m.channel_id = c.id order by m.user_id),
        'createdAt', c.created_at,
        'lastMessageAt', coalesce((
          select m.created_at from messages m
          where m.channel_id = c.id and m.thread_id is null order by m.seq desc limit 1), c.created_at))::text as json
      from channels c where c.kind = 'direct' and c.deleted_at is null order by c.id`,
  },
  {
    name: 'messages',
    sql: `
      select json_build_object('id', m.id, 'channelId', ${wireId}, 'threadId', m.thread_id, 'seq', m.seq, 'rev', m.rev,
        'author', case when m.webhook_id is null
          then case when u.is_bot then json_build_object('id', u.id, 'userName', u.user_name, 'isBot', true)
               else json_build_object('id', u.id, 'userName', u.user_name) end
          else (select (${webhookAuthor('w', 'm.shown_as')})::json from webhooks w where w.id = m.webhook_id) end,
        'content', m.content, 'blocks', coalesce(m.blocks, '[]'), 'attachments', coalesce(m.attachments, '[]'), 'images', coalesce(m.images, '{}'), 'imageSizes', coalesce(m.image_sizes, '{}'),
        'previews', coalesce(m.previews, '[]'), 'quotedMessageId', m.quoted_message_id, 'mentions', coalesce(m.mentions, '{}'), 'pinnedAt', m.pinned_at,
        'createdAt', m.created_at, 'updatedAt', m.updated_at,
        'reactions', coalesce((
          select json_object_agg(held.reaction, held.people order by held.first) from (
            select r.reaction, json_agg(r.user_id order by r.position) as people, min(r.position) as first
            from reactions r where r.message_id = m.id group by r.reaction
          ) held), '{}'),
        'threadMeta', (
          select json_build_object('replyCount', t.reply_count, 'lastReplyAt', t.last_reply_at,
            'lastReplyBy', ${lastReplier('t')}, 'participants', t.participants)
          from threads t where t.message_id = m.id and t.reply_count > 0))::text as json
      from messages m join channels c on c.id = m.channel_id left join users u on u.id = m.author_id
      where m.deleted_at is null and c.deleted_at is null order by m.id`,
  },
  {
    name: 'webhooks',
    sql: `
      select json_build_object('id', w.id, 'name', w.name, 'channelId', w.channel_id, 'createdAt', w.created_at,
        'createdBy', w.created_by, 'lastPostedAt', w.last_posted_at, 'isOrphaned', not exists (
          select from users u where u.id = w.created_by and u.is_admin
            and u.removed_at is null and u.deactivated_at is null))::text as json
      from webhooks w join channels c on c.id = w.channel_id
      where w.deleted_at is null and c.deleted_at is null order by w.id`,
  },
  {
    name: 'auditLog',
    sql: `
      select (jsonb_build_object('id', a.id, 'action', a.action, 'actorId', a.actor_id, 'targetType', a.target_type,
        'targetId', a.target_id, 'ip', a.ip, 'createdAt', a.created_at)
        || case when a.metadata is null then '{}' else jsonb_build_object('metadata', a.metadata) end)::text as json
      from audit_log a order by a.id`,
  },
]

/**
 * Begins the transaction of an export and returns the moment of its snapshot, in epoch milliseconds. Sections are read
 * by the indexes of their ids, so that the first record is returned at once and nothing is sorted.
 */
async function beginSnapshot(client: PooledClient): Promise<number> {
  await client.query('begin transaction isolation level repeatable read read only')
  await client.query('set local enable_sort = off; set local enable_seqscan = off; set local enable_bitmapscan = off')
  // The reader of the document may pause, for instance because of a full disk or a slow store.
  await client.query(`set local idle_in_transaction_session_timeout = '10min'`)
  const { rows } = await client.query('select now_ms() as now')
  return rows[0].now
}

/** An estimate from counters, which also count deleted messages. */
async function estimateRecords(client: PooledClient): Promise<number> {
  const { rows } = await client.query(`
    select (select count(*) from users) + (select count(*) from channels where deleted_at is null)
      + (select count(*) from webhooks where deleted_at is null) + (select count(*) from audit_log)
      + (select coalesce(sum(last_seq), 0)::bigint from channels where deleted_at is null)
      + (select coalesce(sum(last_seq), 0)::bigint from threads) as total`)
  return rows[0].total
}

async function findSettings(client: PooledClient): Promise<string> {
  const { rows } = await client.query(`select json_build_object('name', name)::text as json from server_settings`)
  return rows[0].json
}

/**
 * Bytes of the records that are read at once. Most records have some hundred bytes, and some have megabytes, because a
 * channel lists all its members.
 */
const batchBytes = 256 * 1024
const batchRecords = { first: 10, max: 200 }

/** Reads the records of a section in batches, with a cursor of PostgreSQL. */
async function* readSection(client: PooledClient, { sql }: Section): AsyncGenerator<string[]> {
  await client.query(`declare export_section no scroll cursor for ${sql}`)
  for (let batchSize = batchRecords.first; ; ) {
    const { rows } = await client.query<{ json: string }>(`fetch ${batchSize} from export_section`)
    if (rows.length > 0) yield rows.map(({ json }) => json)
    if (rows.length < batchSize) break
    const largest = Math.max(...rows.map(({ json }) => json.length))
    batchSize = Math.max(1, Math.min(batchRecords.max, 2 * batchSize, Math.floor(batchBytes / largest)))
  }
  await client.query('close export_section')
}
