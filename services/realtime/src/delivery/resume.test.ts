import net from 'node:net'
import { audienceOf, everyone } from '@parley/contract'
import type { EventStream } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Member, openTestServer, type TestNode, type TestServer } from '../testing/test-server.ts'

let server: TestServer
let nodes: [TestNode, TestNode]
let ann: Member
let bob: Member

beforeAll(async () => {
  server = await openTestServer()
  nodes = [await server.startNode(), await server.startNode({ maxBufferBytes: 65_536 })]
  ;[ann, bob] = [await server.addMember('ann'), await server.addMember('bob')]
})
afterAll(() => server.close())

const slowStreams = 'parley_streams_ended_total{reason="slow"'
const namesOf = (stream: EventStream) => stream.all('UPDATE_SERVER_SETTINGS').map(({ name }) => name)
const upTo = (last: number, prefix: string) => Array.from({ length: last }, (_, n) => `${prefix} ${n}`)

describe('a client that reconnects', () => {
  test('receives the missed events once and in order, and then live events, on any node', async () => {
    const first = await nodes[0].open(ann)
    await first.close()
    for (const name of upTo(5, 'missed')) await server.says(everyone, name)

    const again = await nodes[1].open(ann, first.cursor)
    expect(again.connected).toMatchObject({ payload: { resumed: true }, cursor: first.cursor })
    await again.waitFor('UPDATE_SERVER_SETTINGS', { name: 'missed 4' })
    await server.says(everyone, 'live')
    await again.waitFor('UPDATE_SERVER_SETTINGS', { name: 'live' })
    expect(namesOf(again)).toEqual([...upTo(5, 'missed'), 'live'])
    await again.close()
  })

  test('may send its cursor in the query, but the header has priority', async () => {
    const first = await nodes[0].open(ann)
    await first.close()
    const ask = async (query: string, headers = {}) => {
      const response = await fetch(`${nodes[0].url}/events?token=${ann.token}${query}`, { headers })
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      let text = ''
      while (!text.includes('id: ')) text += (await reader.read()).value
      await reader.cancel()
      return /"resumed":(\w+)/.exec(text)![1]
    }
    expect(await ask(`&lastEventId=${first.cursor}`)).toBe('true')
    expect(await ask(`&lastEventId=${first.cursor}`, { 'last-event-id': 'nonsense.1' })).toBe('false')
    expect(await ask('&lastEventId=nonsense.1', { 'last-event-id': first.cursor })).toBe('true')
  })

  test.each([
    ['malformed', () => 'garbage'],
    ['of another epoch', (cursor: string) => `000000000000.${cursor.split('.')[1]}`],
    ['of a position that no event has', (cursor: string) => `${cursor.split('.')[0]}.999999999`],
  ])('must fetch everything again when its cursor is %s', async (_what, spoil) => {
    const first = await nodes[0].open(ann)
    await first.close()
    await server.says(everyone, 'not for a stream that begins anew')
    const fresh = await nodes[0].open(ann)
    await fresh.close()

    const again = await nodes[0].open(ann, spoil(first.cursor!))
    expect(again.connected.payload.resumed).toBe(false)
    await server.says(everyone, 'live after all')
    await again.waitFor('UPDATE_SERVER_SETTINGS', { name: 'live after all' })
    await again.close()
  })

  test('must fetch everything again when its cursor is older than the stored events', async () => {
    const first = await nodes[0].open(ann)
    await first.close()
    for (const name of upTo(3, 'soon forgotten')) await server.says(everyone, name)
    await (await nodes[0].open(ann, first.cursor)).waitFor('UPDATE_SERVER_SETTINGS', { name: 'soon forgotten 2' })
    const keys = [server.db.deleteFrom('eventPositions').execute(), server.db.deleteFrom('outbox').execute()]
    await Promise.all(keys)
    server.redis.kill('SIGKILL')
    await server.redis.restart()

    const late = await server.startNode()
    const again = await late.open(ann, first.cursor)
    expect(again.connected.payload.resumed).toBe(false)
    expect(namesOf(again)).toEqual([])
    await again.close()
    await late.stop()
  })
})

describe('the replay window', () => {
  test('has exactly as many events as the setting says', async () => {
    const small = await server.startNode({ resumeMaxEvents: 5 })
    const first = await small.open(ann)
    await first.close()
    const isResumed = async () => {
      const stream = await small.open(ann, first.cursor)
      await stream.close()
      return stream.connected.payload.resumed
    }
    const follower = await small.open(bob)
    const say = async (name: string) => {
      await server.says(everyone, name)
      await follower.waitFor('UPDATE_SERVER_SETTINGS', { name })
    }
    for (const name of upTo(5, 'sized')) await say(name)
    expect(await isResumed()).toBe(true)
    await say('one too many')
    expect(await isResumed()).toBe(false)
    await follower.close()
    await small.stop()
  })

  test('ends at its age even while older events are stored, but a client that missed nothing resumes', async () => {
    const short = await server.startNode({ replaySeconds: 2 })
    const first = await short.open(ann)
    await first.close()
    await server.says(everyone, 'growing old')
    const isResumed = async (cursor: string | undefined) => {
      const stream = await short.open(ann, cursor)
      await stream.close()
      return stream.connected.payload.resumed
    }
    const follower = await nodes[0].open(bob, first.cursor)
    await follower.waitFor('UPDATE_SERVER_SETTINGS', { name: 'growing old' })
    await vi.waitUntil(async () => !(await isResumed(first.cursor)), 20_000)
    expect(await isResumed(follower.cursor)).toBe(true)
    const elsewhere = await nodes[0].open(ann, first.cursor)
    expect(elsewhere.connected.payload.resumed).toBe(true)
    for (const stream of [follower, elsewhere]) await stream.close()
    await short.stop()
  })
})

describe('under load', () => {
  test('clients that reconnect at random receive every event once and in order', async () => {
    const channel = await server.addChannel('private', [ann])
    const total = 600
    const first = await nodes[0].open(ann)
    const clients = Array.from({ length: 8 }, (_, index) => follow(index % 2 ? ann : bob, index, first.cursor!))
    const publishing = (async () => {
      for (let n = 0; n < total; n++) await server.says(n % 3 ? everyone : audienceOf(channel), `load ${n}`)
      await server.says(everyone, 'load end')
    })()

    const all = [...upTo(total, 'load'), 'load end']
    const results = await Promise.all(clients)
    await publishing
    await first.close()
    for (const [index, { seen, reconnects }] of results.entries()) {
      const expected = index % 2 ? all : all.filter((name, n) => name === 'load end' || n % 3 !== 0)
      expect(seen).toEqual(expected)
      expect(reconnects).toBeGreaterThan(5)
    }
  })

  /** Reads all events after a cursor over many connections. It reads a random number of events from each of them. */
  async function follow(member: Member, index: number, begin: string) {
    const seen: string[] = []
    let cursor: string | undefined = begin
    for (let reconnects = 0; ; reconnects++) {
      const stream = await nodes[(reconnects + index) % 2]!.open(member, cursor)
      expect(stream.connected.payload.resumed).toBe(true)
      const some = Math.ceil(Math.random() * 30)
      const isDone = () => namesOf(stream).length >= some || namesOf(stream).includes('load end')
      await stream.until(isDone, () => `client ${index} has ${seen.length} events, then ${namesOf(stream).length}`)
      await stream.close()
      const taken = stream.received.filter((event) => event.type === 'UPDATE_SERVER_SETTINGS').slice(0, some)
      seen.push(...taken.map(({ payload }) => payload.name))
      cursor = taken.at(-1)!.cursor
      if (seen.at(-1) === 'load end') return { seen, reconnects }
    }
  }
})

describe('a client that does not read', () => {
  test('is disconnected when it has too much unsent data, and resumes at its cursor', async () => {
    const [, small] = nodes
    const socket = net.connect(Number(new URL(small.url).port), '127.0.0.1')
    socket.write(`GET /events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ann.token}\r\n\r\n`)
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    while (!text.includes('id: ')) await new Promise((resolve) => socket.once('data', resolve))
    socket.pause()

    const before = await small.reads(slowStreams)
    const filler = 'x'.repeat(60_000)
    let sent = 0
    while ((await small.reads(slowStreams)) === before) await server.says(everyone, `slow ${sent++} ${filler}`)

    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.on('error', () => {}).resume()
    await closed
    const whole = text.slice(0, text.lastIndexOf('\n\n'))
    expect(whole).toMatch(/\n\n: ended, this client reads too slowly/)
    const cursor = whole.slice(whole.lastIndexOf('\nid: ') + 5).split('\n')[0]
    const got = [...whole.matchAll(/"name":"slow (\d+) /g)].map(([, n]) => Number(n))

    const again = await small.open(ann, cursor)
    await again.waitFor('UPDATE_SERVER_SETTINGS', ({ name }) => name.startsWith(`slow ${sent - 1} `))
    const rest = namesOf(again).map((name) => Number(name.split(' ')[1]))
    expect(again.connected.payload.resumed).toBe(true)
    expect([...got, ...rest]).toEqual(Array.from({ length: sent }, (_, n) => n))
    await again.close()
  })
})

describe('a client that reads slowly during a replay', () => {
  test('receives everything and is not disconnected', async () => {
    const first = await nodes[0].open(ann)
    await first.close()
    const filler = 'x'.repeat(10_000)
    for (let n = 0; n < 220; n++) await server.says(everyone, `long ${n} ${filler}`)
    const marked = await nodes[1].open(ann, first.cursor)
    await marked.waitFor('UPDATE_SERVER_SETTINGS', ({ name }) => name.startsWith('long 219 '))
    await marked.close()

    const slowBefore = await nodes[1].reads(slowStreams)
    const socket = net.connect(Number(new URL(nodes[1].url).port), '127.0.0.1')
    socket.write(`GET /events?token=${ann.token}&lastEventId=${first.cursor} HTTP/1.1\r\nhost: x\r\n\r\n`)
    let text = ''
    for await (const chunk of socket.setEncoding('utf8')) {
      text += chunk
      // A heartbeat may come after the event in the same chunk.
      if (/"name":"long 219 x+"\}\}\nid: .*\n\n/.test(text.slice(-40_000))) break
      // A query between two reads makes the client slow enough for the node to be far ahead.
      await server.db.selectFrom('relayLease').select('pos').execute()
    }
    expect([...text.matchAll(/"name":"long (\d+) /g)].map(([, n]) => Number(n))).toEqual([...Array(220).keys()])
    expect(await nodes[1].reads(slowStreams)).toBe(slowBefore)
  })
})

describe('when a new epoch begins', () => {
  test('open streams end, and their cursors do not resume', async () => {
    const stream = await nodes[0].open(ann)
    await server.relay.stop()
    await server.db.updateTable('relayLease').set({ epoch: 'another', pos: 0 }).execute()
    await stream.ended

    const again = await nodes[0].open(ann, stream.cursor)
    expect(again.connected).toMatchObject({ payload: { resumed: false }, cursor: 'another.0' })
    await again.close()
  })
})
