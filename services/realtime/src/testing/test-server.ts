import { PassThrough } from 'node:stream'
import { type Config, type DeepPartial, loadConfig } from '@parley/config'
import type { EventPayload, EventType, Routing } from '@parley/contract'
import { type DatabaseRole, record, recordControl, uuidv7 } from '@parley/database'
import { createRelay } from '@parley/events'
import { buildApp, openDeps } from '@parley/service'
import { createLogger } from '@parley/telemetry'
import { createDatabase, createRedis, EventStream, type TestDatabase } from '@parley/test'
import { realtime } from '../service.ts'

export interface Member {
  id: string
  sessionId: string
  token: string
}

export interface TestNode {
  url: string
  open(member: Member, lastEventId?: string, query?: Record<string, string>): Promise<EventStream>
  /** The value of a metric, summed over its labels. */
  reads(metric: string): Promise<number>
  logged(): string
  stop(): Promise<void>
}

export type ServerDatabase = Pick<TestDatabase, 'db' | 'pool' | 'url' | 'urlOf' | 'drop'>

export type TestServer = Awaited<ReturnType<typeof openTestServer>>

/**
 * PostgreSQL, Redis, a relay and any number of realtime nodes on real ports, each signed in by its role. People and
 * channels are inserted directly. The test environment of `@parley/test` is one process, so it cannot test how several
 * nodes work together, stop one of them, or give each its own limits.
 */
export async function openTestServer(open: () => Promise<ServerDatabase> = () => createDatabase(20)) {
  const database = await open()
  const redis = await createRedis()
  const { db } = database
  const nodes: TestNode[] = []
  const settings = (role: DatabaseRole, events: DeepPartial<Config['events']> = {}): DeepPartial<Config> => ({
    environment: 'test',
    auth: { jwtSecret: 'a secret that only this test knows' },
    database: { url: database.urlOf(role) },
    redis: { url: redis.url },
    log: { level: 'silent' },
    events: { drainSeconds: 0, ...events },
  })
  const home = openDeps('worker', await loadConfig({ argv: [], env: {}, defaults: settings('worker') }))
  const deps = { ...home.deps, logger: createLogger({ service: 'test', level: 'silent' }) }
  const relay = createRelay({
    pool: deps.pool,
    redis: { url: redis.url },
    logger: deps.logger,
    metrics: deps.metrics,
    events: deps.config.events,
    holder: uuidv7(),
  })
  relay.start()

  async function startNode(events: DeepPartial<Config['events']> = {}): Promise<TestNode> {
    const config = await loadConfig({ argv: [], env: {}, defaults: settings('realtime', events) })
    const lines: string[] = []
    const destination = new PassThrough().on('data', (line) => lines.push(String(line)))
    const { deps, close } = openDeps('realtime', config)
    const logger = createLogger({ service: 'realtime', level: 'trace', destination })
    const service = realtime({ ...deps, logger })
    const { fastify } = await buildApp({ deps: { ...deps, logger }, checks: service.checks!, position: 'edge' })
    await fastify.register(service.plugin!)
    await service.start!()
    const url = await fastify.listen({ host: '127.0.0.1', port: 0 })
    let stopping: Promise<void> | undefined
    const stop = async () => {
      await fastify.close()
      await service.stop!()
      await close()
    }
    const node: TestNode = {
      url,
      open: ({ token }, lastEventId, query) =>
        EventStream.open({ baseUrl: url, token, ...(lastEventId && { lastEventId }), ...(query && { query }) }),
      async reads(metric) {
        const rows = (await deps.metrics.text()).split('\n').filter((line) => line.startsWith(metric))
        return rows.reduce((sum, row) => sum + Number(row.slice(row.lastIndexOf(' '))), 0)
      },
      logged: () => lines.join(''),
      stop: () => (stopping ??= stop()),
    }
    nodes.push(node)
    return node
  }

  async function addMember(name: string, { isAdmin = false, lifetimeMs = 3_600_000 } = {}): Promise<Member> {
    const id = uuidv7()
    const userName = `${name}-${id.slice(-6)}`
    const now = Date.now()
    await db
      .insertInto('users')
      .values({ id, userName, userNameKey: userName, email: `${userName}@example.org`, isAdmin, createdAt: now })
      .execute()
    return { id, ...(await addSession(id, lifetimeMs)) }
  }

  async function addSession(userId: string, lifetimeMs = 3_600_000) {
    const sessionId = uuidv7()
    const now = Date.now()
    await db
      .insertInto('sessions')
      .values({ id: sessionId, userId, createdAt: now, lastUsedAt: now, expiresAt: now + lifetimeMs })
      .execute()
    return { sessionId, token: await deps.tokens.issueAccess({ userId, sessionId, seconds: 3_600 }) }
  }

  async function addChannel(kind: 'public' | 'private' | 'direct', members: Member[] = []) {
    const id = uuidv7()
    const now = Date.now()
    await db.insertInto('channels').values({ id, kind, name: id, nameKey: id, createdAt: now }).execute()
    if (members.length > 0) {
      await db
        .insertInto('channelMembers')
        .values(members.map(({ id: userId }) => ({ channelId: id, userId, joinedAt: now })))
        .execute()
    }
    return { id, membersVersion: 1 }
  }

  async function addGroup(members: Member[]): Promise<string> {
    const id = uuidv7()
    const names = { handle: id, handleKey: id, handleSkeleton: id, name: id }
    await db
      .insertInto('groups')
      .values({ id, ...names, source: 'local', createdAt: Date.now() })
      .execute()
    await changeGroup(id, { joined: members })
    return id
  }

  /** Changes the members. The test records the event itself. */
  async function changeGroup(groupId: string, { joined = [], left = [] }: { joined?: Member[]; left?: Member[] }) {
    for (const { id: userId } of joined) {
      await db.insertInto('groupMembers').values({ groupId, userId, addedAt: 1 }).execute()
    }
    for (const { id: userId } of left) {
      await db.deleteFrom('groupMembers').where('groupId', '=', groupId).where('userId', '=', userId).execute()
    }
  }

  /** Commits an event and wakes the relay. */
  async function publish<T extends EventType>(routing: Routing, type: T, payload: EventPayload<T>) {
    await db.transaction().execute((trx) => record(trx, { type, payload, routing }))
    relay.wake()
  }

  /** Begins a new epoch, as after a restored backup: the term of the leader ends, and the next one begins with the new epoch. */
  async function beginEpoch() {
    await db
      .updateTable('relayLease')
      .set(({ eb }) => ({ epoch: uuidv7(), token: eb('token', '+', 1), expiresAt: 0 }))
      .execute()
  }

  return {
    db,
    redis,
    relay,
    beginEpoch,
    startNode,
    addMember,
    addSession,
    addChannel,
    addGroup,
    changeGroup,
    publish,
    /** Records an event that a test can recognise by its name. */
    says: (routing: Routing, name: string) => publish(routing, 'UPDATE_SERVER_SETTINGS', { name }),
    async control(routing: Routing) {
      await db.transaction().execute((trx) => recordControl(trx, routing))
      relay.wake()
    },
    async close() {
      await Promise.all(nodes.map((node) => node.stop()))
      await relay.stop()
      await home.close()
      await redis.discard()
      await database.drop()
    },
  }
}
