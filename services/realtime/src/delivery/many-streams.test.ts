import { everyone, onlyUsers } from '@parley/contract'
import type { EventStream } from '@parley/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Member, openTestServer, type TestNode, type TestServer } from '../testing/test-server.ts'

const streamsEach = 150
const people = 8

let server: TestServer
let node: TestNode
let members: Member[]

beforeAll(async () => {
  server = await openTestServer()
  node = await server.startNode({ maxStreamsPerUser: 2 * streamsEach })
  members = await Promise.all(Array.from({ length: people }, (_, n) => server.addMember(`member ${n}`)))
})
afterAll(() => server.close())

const namesIn = ({ received }: EventStream) =>
  received.flatMap(({ type, payload }) => (type === 'UPDATE_SERVER_SETTINGS' ? [payload.name] : []))

test('streams get each event once and in order when a delivery takes several turns, also streams that open meanwhile', async () => {
  const streams: { member: Member; stream: EventStream; before: string[] }[] = []
  for (let n = 0; n < streamsEach; n++) {
    const opened = await Promise.all(members.map((member) => node.open(member)))
    streams.push(...opened.map((stream, index) => ({ member: members[index]!, stream, before: [] })))
  }

  const first = members[0]!
  const names = Array.from({ length: 30 }, (_, n) => `${n % 3 === 1 ? 'for one' : 'for all'} ${n}`)
  for (const [n, name] of names.entries()) {
    await server.says(n % 3 === 1 ? onlyUsers(first.id) : everyone, name)
    // Some clients close their stream during the delivery, and resume at their cursor.
    const reconnecting = streams[(n * 37) % streams.length]!
    reconnecting.before.push(...namesIn(reconnecting.stream))
    const { cursor } = reconnecting.stream
    await reconnecting.stream.close()
    reconnecting.stream = await node.open(reconnecting.member, cursor)
  }
  await server.says(everyone, 'the last')
  await Promise.all(streams.map(({ stream }) => stream.waitFor('UPDATE_SERVER_SETTINGS', { name: 'the last' })))

  const expected = (member: Member) =>
    [...names, 'the last'].filter((name) => member === first || !name.startsWith('for one'))
  const wrong = streams.filter(
    ({ member, stream, before }) => String([...before, ...namesIn(stream)]) !== String(expected(member)),
  )
  expect(wrong.map(({ stream, before }) => [...before, ...namesIn(stream)])).toEqual([])
  await Promise.all(streams.map(({ stream }) => stream.close()))
}, 60_000)
