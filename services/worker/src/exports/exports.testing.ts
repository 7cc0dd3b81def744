import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { exportPartKey } from '@parley/blobs'
import { type Config, childEnvironment } from '@parley/config'
import { type Connection, uuidv7 } from '@parley/database'
import type { Deps } from '@parley/service'

type Pool = Connection['pool']

/** Messages of one statement. A statement must end within the time limit of the connection. */
const batchSize = 100_000

/**
 * Inserts messages of 50 people in 20 channels and a conversation, with replies, reactions, deleted messages and texts
 * of all sizes.
 */
export async function fillServer(pool: Pool, messages: number): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('set statement_timeout = 0')
    await client.query('truncate users, user_words, channels, messages, threads, reactions, jobs cascade')
    await client.query(`
      insert into users (id, user_name, user_name_key, email, created_at, removed_at)
      select gen_random_uuid(), 'person ' || n, 'person ' || n, n || '@example.com', n, case when n % 10 = 0 then n end
      from generate_series(1, 50) n`)
    await client.query(`
      insert into channels (id, kind, name, name_key, created_at, deleted_at, direct_key)
      select gen_random_uuid(), case when n = 0 then 'direct' when n % 3 = 0 then 'private' else 'public' end,
        'channel ' || n, 'channel ' || n, n, case when n % 20 = 19 then 1 end, case when n = 0 then 'a:b' end
      from generate_series(0, 20) n`)
    await client.query('insert into channel_members select c.id, u.id, 1 from channels c, users u')
    for (let from = 1; from <= messages; from += batchSize)
      await client.query(
        `insert into messages (id, channel_id, seq, author_id, content, attachments, images, mentions, created_at, deleted_at)
         select gen_random_uuid(), c.ids[1 + n % 21], n / 21, u.ids[1 + n % 50],
           'message ' || n || ' "\\" ' || chr(10) || repeat('Wörter 🦆 ', (n::bigint * 7919 % 40)::int) ||
             case when n % 5000 = 7 then repeat('x', 15000) else '' end,
           case when n % 50 = 3 then '[{"filename":"a.txt","originalName":"ä.txt","contentType":"text/plain","size":3}]'::jsonb end,
           case when n % 50 = 4 then array['picture.png'] end, case when n % 9 = 0 then array['@here'] end, n,
           case when n % 100 = 99 then n end
         from generate_series($1::int, $2::int) n,
           (select array_agg(id order by created_at) as ids from channels) c, (select array_agg(id order by created_at) as ids from users) u`,
        [from, Math.min(messages, from + batchSize - 1)],
      )
    await client.query(
      `update channels set last_seq = coalesce((select max(seq) from messages where channel_id = channels.id), 0)`,
    )
    await client.query(`
      insert into messages (id, channel_id, thread_id, seq, author_id, content, created_at)
      select gen_random_uuid(), m.channel_id, m.id, 1, m.author_id, 'reply', 1 from messages m
      where m.seq % 40 = 0 and m.deleted_at is null`)
    await client.query(`
      insert into threads select m.thread_id, 1, 1, m.created_at, m.author_id, array[m.author_id]
      from messages m where m.thread_id is not null`)
    await client.query(`
      insert into reactions (message_id, reaction, user_id)
      select m.id, '👍', m.author_id from messages m where m.seq % 10 = 0`)
    await client.query('analyze')
  } finally {
    client.release(true)
  }
}

/** Records an export with its job, as the admin service does. */
export async function requestExport({ pool }: Pick<Connection, 'pool'>): Promise<string> {
  const id = uuidv7()
  await pool.query(
    `insert into exports (id, requested_by, state, created_at, expires_at) values ($1, $1, 'waiting', 1, 9e15)`,
    [id],
  )
  await pool.query(`insert into jobs (id, name, data, created_at) values ($1, 'compute-export', $2, 1)`, [
    uuidv7(),
    JSON.stringify({ exportId: id }),
  ])
  return id
}

/** From now on every worker blocks while it stores a part, so that a test can act meanwhile. */
export async function blockStoring(pool: Pool) {
  const holder = await pool.connect()
  await holder.query('begin; set local idle_in_transaction_session_timeout = 0; lock table blob_chunks in share mode')
  const waiting = 'from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))'
  let ended: Promise<void> | undefined
  return {
    waiting: async () => (await holder.query(`select ${waiting}`)).rows,
    /**
     * Unblocks new statements and terminates the waiting ones: their clients may have ended, and the statements would
     * still be carried out.
     */
    end() {
      ended ??= holder.query(`select pg_terminate_backend(pid, 20000) ${waiting}`).then(() => holder.release(true))
      return ended
    },
  }
}

export async function stateOf({ pool }: Deps, id: string) {
  const { rows } = await pool.query('select * from exports where id = $1', [id])
  return rows[0] as { state: string; attempt: number; records_done: number; size: number } | undefined
}

/** The stored document of an export, line by line. Every record is on a line of its own. */
export async function* linesOf({ pool, blobs }: Deps, exportId: string): AsyncGenerator<string> {
  const { rows } = await pool.query(
    'select p.attempt, p.n from export_parts p join exports e on e.id = p.export_id and e.attempt = p.attempt where e.id = $1 order by n',
    [exportId],
  )
  async function* bytes() {
    for (const { attempt, n } of rows)
      yield* (await blobs.get(exportPartKey({ exportId, attempt, n }))) as AsyncIterable<Buffer>
  }
  yield* createInterface({ input: Readable.from(bytes()).pipe(createGunzip()), crlfDelay: Number.POSITIVE_INFINITY })
}

/** Compares every message of a document with its row. Returns the number of messages. */
export async function compareMessages(deps: Deps, exportId: string): Promise<number> {
  const rows = messageRows(deps.pool)
  let [section, count] = ['', 0]
  for await (const line of linesOf(deps, exportId)) {
    const [, name] = /^"(\w+)":\[$/.exec(line) ?? []
    if (name) section = name
    if (section !== 'messages' || !line.startsWith('{')) continue
    const { value: row } = await rows.next()
    const m = JSON.parse(line.replace(/,$/, ''))
    const told = [m.id, m.channelId, m.threadId, m.seq, m.author.id, m.content, m.attachments, m.images, m.mentions]
    const more = [m.createdAt, Object.keys(m.reactions).length, m.threadMeta?.replyCount ?? 0]
    if (JSON.stringify([...told, ...more]) !== JSON.stringify(row)) {
      throw new Error(`message ${count} is ${line}, but its row says ${JSON.stringify(row)}`)
    }
    count += 1
  }
  if (!(await rows.next()).done) throw new Error(`the document ends after ${count} messages, and there are more rows`)
  return count
}

async function* messageRows(pool: Pool): AsyncGenerator<unknown[]> {
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const { rows } = await pool.query({
      text: `
        select m.id, case c.kind when 'direct' then 'dm:' else '' end || c.id, m.thread_id, m.seq, m.author_id, m.content,
          coalesce(m.attachments, '[]') as attachments, coalesce(m.images, '{}') as images, coalesce(m.mentions, '{}') as mentions,
          m.created_at, (select count(*) from reactions r where r.message_id = m.id) as reactions,
          coalesce((select t.reply_count from threads t where t.message_id = m.id), 0) as replies
        from messages m join channels c on c.id = m.channel_id
        where m.deleted_at is null and c.deleted_at is null and m.id > $1 order by m.id limit 5000`,
      values: [after],
      rowMode: 'array',
    })
    yield* rows
    if (rows.length < 5000) return
    after = rows.at(-1)![0]
  }
}

/** A worker in a process of its own, as in production. */
export class WorkerProcess {
  readonly child: ChildProcess
  readonly exit: Promise<unknown>

  constructor(config: Config) {
    const settings = { ...config, server: { ...config.server, port: 0 } }
    this.child = spawn(process.execPath, [path.join(import.meta.dirname, '../main.ts')], {
      env: childEnvironment(settings, { PATH: process.env.PATH }),
      stdio: 'inherit',
    })
    this.exit = once(this.child, 'exit')
  }

  /** The peak of its memory in MB; undefined where the system does not report it. */
  async peakMegabytes(): Promise<number | undefined> {
    const status = await readFile(`/proc/${this.child.pid}/status`, 'utf8').catch(() => '')
    const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(status) ?? []
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024
  }

  async end(signal: NodeJS.Signals) {
    this.child.kill(signal)
    await this.exit
  }
}
