import { everyone, nobody } from '@parley/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestServer, type TestNode, type TestServer } from '../testing/test-server.ts'

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
