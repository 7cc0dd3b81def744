import { Socket } from 'node:net'
import { everyone, nobody } from '@parley/contract'
import { createLogger, createMetrics } from '@parley/telemetry'
import type { KyselyPlugin } from 'kysely'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openTestServer, type TestNode, type TestServer } from '../testing/test-server.ts'
import { createKnownChannels } from './known-channels.ts'
import { createOpenStreams } from './open-streams.ts'
import { createSessionWatch } from './stream-endings.ts'

let server: TestServer
let node: TestNode

beforeAll(async () => {
  server = await openTestServer()
  node = await server.startNode()
})
afterAll(() => server.close())

const endSession = (id: string) =>
  server.db.updateTable('sessions').set({ endedAt: Date.now() }).where('id', '=', id).execute()

describe('a stream ends with its session', () => {
  test('when the event stream requires it, and only that session', async () => {
    const ann = await server.addMember('ann')
    const other = { ...ann, ...(await server.addSession(ann.id)) }
    const [ends, stays] = [await node.open(ann), await node.open(other)]

    // The session's row is unchanged, so only the control can end the stream.
    await server.control({ ...nobody, endSessions: [ann.sessionId] })
    await ends.ended
    await server.says(everyone, 'still there')
    await stays.waitFor('UPDATE_SERVER_SETTINGS', { name: 'still there' })
    await stays.close()
  })

  test('when only the database shows it', async () => {
    const ann = await server.addMember('ann')
    const stream = await node.open(ann)
    await endSession(ann.sessionId)
    await stream.ended
  })

  test('when it expires, unless it was extended meanwhile', async () => {
    const lifetimeMs = 4_000
    const short = await server.addMember('short', { lifetimeMs })
    const extended = { ...short, ...(await server.addSession(short.id, lifetimeMs)) }
    const [ends, stays] = [await node.open(short), await node.open(extended)]
    await server.db
      .updateTable('sessions')
      .set({ expiresAt: Date.now() + 60_000 })
      .where('id', '=', extended.sessionId)
      .execute()
    await ends.ended
    await server.says(everyone, 'extended')
    await stays.waitFor('UPDATE_SERVER_SETTINGS', { name: 'extended' })
    await stays.close()
  })

  test('when its end has changed while it was read', async () => {
    const { db } = server
    const { id, sessionId } = await server.addMember('ann')
    const streams = createOpenStreams({
      maxStreams: 9,
      maxStreamsPerUser: 9,
      maxBufferBytes: 1e6,
      metrics: createMetrics({ service: 'test' }),
      channels: createKnownChannels({ db }),
      onCountChange() {},
    })
    onTestFinished(streams.stopObserving)
    const caller = { userId: id, sessionId, userName: 'ann', email: '', role: 'member' as const, isAdmin: false }
    const stream = streams.add(new Socket(), caller, { follower: null, watched: [], wantsPresence: false })
    onTestFinished(() => streams.end(stream, 'client'))
    const lateAnswer: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (result.rows.some((row) => 'expiresAt' in row)) {
          const past = { expiresAt: Date.now() - 1 }
          await db.updateTable('sessions').set(past).where('id', '=', sessionId).execute()
          // As `reloadUsers` does when it hears of the change.
          stream.session.expiresAt = 0
        }
        return result
      },
    }
    const logger = createLogger({ service: 'test', level: 'silent' })
    const watch = createSessionWatch({ db: db.withPlugin(lateAnswer), streams, clock: Date.now, logger })
    await watch.endFinishedSessions()
    await watch.endFinishedSessions()
    expect(stream.isEnded).toBe(true)
  })

  test('when its user is removed', async () => {
    const ann = await server.addMember('ann')
    const stream = await node.open(ann)
    await server.db.updateTable('users').set({ removedAt: Date.now() }).where('id', '=', ann.id).execute()
    await server.control({ ...everyone, reloadUsers: [ann.id] })
    await stream.ended
  })
})

describe('while Redis is unavailable', () => {
  test('streams stay, clients resume, ended sessions end their streams, and no recorded event is lost', async () => {
    const [ann, bob] = [await server.addMember('ann'), await server.addMember('bob')]
    const [ends, stays] = [await node.open(ann), await node.open(bob)]
    server.redis.kill('SIGKILL')
    await server.says(everyone, 'recorded while away')
    await endSession(ann.sessionId)
    await ends.ended

    const opened = await node.open(bob, stays.connected.cursor)
    expect(opened.connected.payload.resumed).toBe(true)
    await server.redis.restart()
    for (const stream of [stays, opened]) {
      await stream.waitFor('UPDATE_SERVER_SETTINGS', { name: 'recorded while away' })
      await stream.close()
    }
  })
})
