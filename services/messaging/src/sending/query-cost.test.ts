import { accessChannel, accessConversation, accessMessage } from '@parley/access'
import { uuidv7 } from '@parley/database'
import { findCaller } from '@parley/identity'
import { foldReads, readStateOf } from '@parley/read-states'
import { createLogger } from '@parley/telemetry'
import { callerOf, everyStatistics, largeDatabase, rowId, sqlRowId } from '@parley/test'
import { describe, expect, test } from 'vitest'
import { findConversation, listConversations } from '../conversations/conversations.queries.ts'
import { readPage } from '../messages/message-pages.queries.ts'
import { joinToPost } from './joining.ts'
import { runSend } from './send-batch.ts'
import { sendWaiting } from './send-statement.ts'
import { says } from './sending.testing.ts'
import { toSending } from './sending.ts'
import { storeMessage } from './store-message.ts'

const messages = 20_000
const others = 5_000
const now = 1_000

const [users, sessions, channels, texts, replies] = [1, 2, 3, 4, 5]

const logger = createLogger({ service: 'test', level: 'silent' })
const [open, secret, direct] = [rowId(channels!, 1), rowId(channels!, 2), rowId(channels!, 3)]
const caller = callerOf(rowId(users!, 7), rowId(sessions!, 7))

/** Every user has a session, and most have a private channel. The caller is a member of the first three channels. */
const fill = (pool: ReturnType<typeof largeDatabase>['pool']) =>
  pool.query(`
    insert into users (id, user_name, user_name_key, email, created_at)
    select ${sqlRowId(users!)}, 'user ' || n, 'user ' || n, n || '@example.com', 1 from generate_series(1, ${others}) n;
    insert into sessions (id, user_id, created_at, last_used_at, expires_at)
    select ${sqlRowId(sessions!)}, ${sqlRowId(users!)}, 1, 1, 10000000000000 from generate_series(1, ${others}) n;
    insert into channels (id, kind, name, name_key, created_at, last_seq, direct_key)
    select ${sqlRowId(channels!)}, case n when 1 then 'public' when 3 then 'direct' else 'private' end, 'channel ' || n,
      'channel ' || n, 1, case n when 1 then ${messages} else 0 end, case n when 3 then '${rowId(users!, 7)}:${rowId(users!, 8)}' end
    from generate_series(1, ${others}) n;
    insert into channel_members select ${sqlRowId(channels!)}, ${sqlRowId(users!)}, 1 from generate_series(4, ${others}) n;
    insert into channel_members values ('${open}', '${rowId(users!, 7)}', 1), ('${secret}', '${rowId(users!, 7)}', 1), ('${direct}', '${rowId(users!, 7)}', 1),
      ('${direct}', '${rowId(users!, 8)}', 1);
    insert into messages (id, channel_id, seq, author_id, content, created_at)
    select ${sqlRowId(texts!)}, '${open}', n, '${rowId(users!, 8)}', 'message ' || n, 1 from generate_series(1, ${messages}) n;
    insert into messages (id, channel_id, thread_id, seq, author_id, content, created_at)
    select ${sqlRowId(replies!)}, '${open}', '${rowId(texts!, 50)}', n, '${rowId(users!, 8)}', 'reply ' || n, 1
    from generate_series(1, ${others}) n;
    insert into idempotency_keys select ${sqlRowId(users!)}, 'key', '\\x00', '{}', ${now} from generate_series(1, ${others}) n;
    insert into read_states select ${sqlRowId(users!)}, '${open}', ${messages - 5} from generate_series(1, ${others}) n;
    insert into read_folds values ('${open}', ${messages - 100})`)

describe.each(everyStatistics)('with %s', (statistics) => {
  const database = largeDatabase(fill, {
    statistics,
    async whileEmpty() {
      for (const [, work] of works) await work().catch(expectRefusal)
      // `truncate` would discard the query plans.
      await database.pool.query('delete from read_folds')
    },
  })

  const works: [string, () => Promise<unknown>, number][] = [
    ['a send of ten messages to four channels', send, 300],
    ['a send by somebody who has not joined the channel', sendAsNonMember, 20],
    [
      'the check whether the author must join first',
      () =>
        database.db
          .transaction()
          .execute((trx) => joinToPost(trx, { logger, caller, now }, { parentId: rowId(texts!, 50) })),
      8,
    ],
    ['a message with files, or one of a webhook', () => store(), 60],
    ['a reply', () => store(rowId(texts!, 51)), 60],
    ['finding the caller', () => findCaller(database.db, caller, now), 4],
    ['access to a private channel', () => accessChannel(database.db, caller, secret), 4],
    ['access to a conversation', () => accessConversation(database.db, caller, `dm:${direct}`), 4],
    ['access to a message', () => accessMessage(database.db, caller, rowId(texts!, 77)), 8],
    ['the newest page of a channel', () => readPage(database.db, { channelId: open }, { limit: 50 }), 500],
    [
      'a page from the middle of a channel',
      () => readPage(database.db, { channelId: open }, { limit: 50, aroundSeq: messages / 2 }),
      1_100,
    ],
    [
      'the newest replies of a thread',
      () => readPage(database.db, { channelId: open, threadId: rowId(texts!, 50) }, { limit: 50 }),
      600,
    ],
    ['the conversation of two people', () => findConversation(database.db, [rowId(users!, 7), rowId(users!, 8)]), 2],
    ['the conversations of a user', () => listConversations(database.db, caller.userId, { limit: 10 }), 60],
    ['counting the unread messages of a channel', unread, 300],
    ['folding the read states of authors', () => foldReads(database.pool, open, messages), 1_000],
  ]

  test.each(works)('%s reads only the rows that it needs', async (_what, work, most) => {
    for (let n = 0; n < 8; n++) await work()
    expect(await database.read(work)).toBeLessThanOrEqual(most)
  })

  async function send() {
    const targets = [open, secret, rowId(channels!, 9), direct]
    const batch = Array.from({ length: 10 }, (_, n) =>
      toSending(
        says(caller, targets[n % 4]!, `a message ${n}`, {
          kind: n % 4 === 3 ? 'conversation' : 'channel',
          quotedMessageId: n === 0 ? rowId(texts!, 99) : null,
          idempotency: n === 4 ? { key: `${performance.now()}`, requestHash: 'aa'.repeat(32) } : null,
        }),
        { createdAt: now, deadline: now, resolve() {}, reject() {} },
      ),
    )
    return runSend(database.pool, batch, sendWaiting, now)
  }

  async function sendAsNonMember() {
    const outsider = { userId: rowId(users!, 9), sessionId: rowId(sessions!, 9), userName: '' }
    const sending = toSending(says(outsider, open, 'x'), { createdAt: now, deadline: now, resolve() {}, reject() {} })
    const [[, outcome] = []] = await runSend(database.pool, [sending], sendWaiting, now)
    expect(['unauthorized', 'unjoined']).toContain(outcome)
  }

  function store(parentId?: string) {
    return database.db.transaction().execute(async (trx) => {
      const channel = await accessChannel(trx, caller, open, { lock: true })
      const message = { content: 'a message', quotedMessageId: null, mentions: [], createdAt: now }
      await storeMessage(trx, channel, { ...message, id: uuidv7(), author: caller, ...(parentId && { parentId }) })
    })
  }

  test('the sends of the measured batch are stored where the sender may post', async () => {
    const outcomes = (await send()).toSorted(([a], [b]) => a - b).map(([, outcome]) => outcome)
    expect(outcomes).toEqual([
      'stored',
      'stored',
      'forbidden',
      'stored',
      'stored',
      'stored',
      'forbidden',
      'stored',
      'stored',
      'stored',
    ])
  })

  function unread() {
    return database.db
      .selectFrom('channels')
      .where('id', '=', open)
      .select(readStateOf(caller.userId).as('state'))
      .execute()
  }
})

/** The database is still empty, so access is refused. The statements have run nevertheless. */
function expectRefusal(error: { status?: number }) {
  expect([401, 403, 404]).toContain(error.status)
}
