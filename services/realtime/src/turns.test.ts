import { everyone, onlyUsers } from '@parley/contract'
import type { EventStream } from '@parley/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Member, openStage, type Stage, type StageNode } from './testing/stage.ts'

const streamsEach = 150
const people = 8

let stage: Stage
let node: StageNode
let members: Member[]

beforeAll(async () => {
  stage = await openStage()
  node = await stage.startNode({ maxStreamsPerUser: 2 * streamsEach })
  members = await Promise.all(Array.from({ length: people }, (_, n) => stage.addMember(`member ${n}`)))
})
afterAll(() => stage.close())

const said = ({ received }: EventStream) =>
  received.flatMap(({ type, payload }) => (type === 'UPDATE_SERVER_SETTINGS' ? [payload.name] : []))

test('more streams than one turn of the loop writes to all get everything once and in order, those too that come meanwhile', async () => {
  const streams: { member: Member; stream: EventStream; before: string[] }[] = []
  for (let n = 0; n < streamsEach; n++) {
    const opened = await Promise.all(members.map((member) => node.open(member)))
    streams.push(...opened.map((stream, index) => ({ member: members[index]!, stream, before: [] })))
  }

  const first = members[0]!
  const names = Array.from({ length: 30 }, (_, n) => `${n % 3 === 1 ? 'for one' : 'for all'} ${n}`)
  for (const [n, name] of names.entries()) {
    await stage.says(n % 3 === 1 ? onlyUsers(first.id) : everyone, name)
    // Some leave in the middle of it and come back behind what they have.
    const leaving = streams[(n * 37) % streams.length]!
    leaving.before.push(...said(leaving.stream))
    const { cursor } = leaving.stream
    await leaving.stream.close()
    leaving.stream = await node.open(leaving.member, cursor)
  }
  await stage.says(everyone, 'the last')
  await Promise.all(streams.map(({ stream }) => stream.waitFor('UPDATE_SERVER_SETTINGS', { name: 'the last' })))

  const expected = (member: Member) =>
    [...names, 'the last'].filter((name) => member === first || !name.startsWith('for one'))
  const wrong = streams.filter(
    ({ member, stream, before }) => String([...before, ...said(stream)]) !== String(expected(member)),
  )
  expect(wrong.map(({ stream, before }) => [...before, ...said(stream)])).toEqual([])
  await Promise.all(streams.map(({ stream }) => stream.close()))
}, 60_000)
