import { type ChannelKind, type Connection, connectDatabase, uuidv7 } from '@parley/database'
import { createLogger, createMetrics } from '@parley/telemetry'
import { createDatabase, type TestDatabase } from '@parley/test'
import { afterAll, beforeAll } from 'vitest'
import { createSender, type Sender, type SenderOptions } from './sender.ts'
import type { SendRequest } from './sending.ts'

export interface Person {
  userId: string
  sessionId: string
  userName: string
}

/** A database with senders. Each sender stands for a process: it has its own queue, and its own pool with the service's role. */
export function sendingEnvironment() {
  const connections: Connection[] = []
  const senders: Sender[] = []

  const connection = (to?: string, poolSize = 10): Connection => {
    const opened = connectDatabase({
      url: to ?? environment.db.urlOf('messaging'),
      poolSize,
      applicationName: 'test',
      onIdleError: () => {},
    })
    connections.push(opened)
    return opened
  }
  const environment = {
    /** The owner's connection, for the preparation and inspection of a test. */
    db: undefined as unknown as TestDatabase, // set before the first test
    connection,
    process(options: Partial<SenderOptions> = {}) {
      const { db, pool } = connection()
      const sender = createSender({
        db,
        pool,
        logger: createLogger({ service: 'test', level: 'silent' }),
        metrics: createMetrics({ service: 'test' }),
        clock: Date.now,
        wakeRelay: () => {},
        ...options,
      })
      senders.push(sender)
      return sender
    },
    async person(name: string, { isAdmin = false } = {}): Promise<Person> {
      const userId = uuidv7()
      const userName = `${name} ${userId.slice(-6)}`
      const now = Date.now()
      await environment.db.db
        .insertInto('users')
        .values({
          id: userId,
          userName,
          userNameKey: userName,
          email: userName,
          isAdmin,
          createdAt: now,
          passwordHash: null,
          removedAt: null,
        })
        .execute()
      return { userId, userName, sessionId: await environment.session(userId) }
    },
    async session(userId: string, { expiresAt = Date.now() + 3_600_000 } = {}) {
      const id = uuidv7()
      const now = Date.now()
      await environment.db.db
        .insertInto('sessions')
        .values({ id, userId, createdAt: now, lastUsedAt: now, expiresAt })
        .execute()
      return id
    },
    async channel(kind: ChannelKind, ...members: Person[]) {
      const id = uuidv7()
      const { db } = environment.db
      await db.insertInto('channels').values({ id, kind, name: id, nameKey: id, createdAt: Date.now() }).execute()
      for (const { userId } of members) {
        await db.insertInto('channelMembers').values({ channelId: id, userId, joinedAt: Date.now() }).execute()
      }
      return id
    },
    stored: (channelId: string) =>
      environment.db.db.selectFrom('messages').selectAll().where('channelId', '=', channelId).orderBy('seq').execute(),
    async lastSeq(channelId: string) {
      const query = environment.db.db.selectFrom('channels').select('lastSeq').where('id', '=', channelId)
      return (await query.executeTakeFirstOrThrow()).lastSeq
    },
    /** The outbox row of a message. */
    async recorded(messageId: string) {
      const query = environment.db.db.selectFrom('outbox').selectAll().where('event', 'like', `%"id":"${messageId}"%`)
      const { event, routing, ...row } = await query.executeTakeFirstOrThrow()
      return { ...row, event: JSON.parse(event!), routing: JSON.parse(routing) }
    },
    /** Holds a channel's lock in a separate transaction until `release`. */
    async lock(channelId: string) {
      const client = await environment.db.pool.connect()
      await client.query('begin')
      await client.query('select from channels where id = $1 for no key update', [channelId])
      return {
        query: (text: string, values: unknown[]) => client.query(text, values),
        async release() {
          await client.query('commit')
          client.release()
        },
      }
    },
    /** Resolves once `count` statements wait for a lock. */
    async untilWaiting(count: number) {
      for (;;) {
        const { rows } = await environment.db.pool.query(
          `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        )
        if (rows.length >= count) return
      }
    },
  }

  beforeAll(async () => {
    environment.db = await createDatabase()
  })
  afterAll(async () => {
    for (const sender of senders) sender.close()
    for (const { close } of connections) await close()
    await environment.db.drop()
  })

  return environment
}

/** The request of a person to send a text to a channel. */
export const says = (
  caller: Person,
  channelId: string,
  content: string,
  more: Partial<SendRequest> = {},
): SendRequest => ({
  caller,
  kind: 'channel',
  channelId,
  content,
  quotedMessageId: null,
  mentions: [],
  idempotency: null,
  ...more,
})
