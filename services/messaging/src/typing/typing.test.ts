import { uuidv7 } from '@parley/database'
import type { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, onTestFinished, test } from 'vitest'

const environment = testEnvironment()
const follow = async (person: Person) => {
  const stream = await person.opensStream()
  onTestFinished(() => stream.close())
  return stream
}

describe('PUT /channels/:channelId/typing', () => {
  test('sends an event without a position to the readers of the channel, and stores nothing', async () => {
    const { ada, ann, bob, cat } = environment.people
    const { id } = environment.channel.secret
    const streams = await Promise.all([ada, ann, bob].map(follow))
    const { rows: before } = await environment.deps.pool.query('select last_value from outbox_ids')
    expect(await ann.put(`/channels/${id}/typing`)).toMatchObject({ status: 200, body: { success: true } })
    for (const stream of streams) {
      const { cursor } = stream
      const event = await stream.waitFor('TYPING', { channelId: id })
      expect(event.payload).toEqual({ channelId: id, userId: ann.id, userName: ann.userName })
      expect(event.cursor).toBeUndefined()
      expect(stream.cursor).toBe(cursor)
    }
    const { rows: after } = await environment.deps.pool.query('select last_value from outbox_ids')
    expect(after).toEqual(before)
    await environment.events.to(cat).neverHave('TYPING', { channelId: id })
  })

  test('sends an event to everybody for a public channel', async () => {
    const { ann, cat } = environment.people
    const { id } = environment.channel.open
    await ann.put(`/channels/${id}/typing`, {})
    await environment.events.to(cat).toHave('TYPING', { channelId: id, userId: ann.id })
  })

  test('sends events to new members, and not to people who have left', async () => {
    const { ann, bob, cat } = environment.people
    const channel = await ann.creates({ name: 'changing', isPrivate: true, members: [bob.id] })
    await ann.put(`/channels/${channel.id}/typing`)
    await environment.events.to(bob).toHave('TYPING', { channelId: channel.id })
    await ann.put(`/channels/${channel.id}`, { members: [cat.id] })
    const late = await follow(bob)
    await ann.put(`/channels/${channel.id}/typing`)
    await environment.events.to(cat).toHave('TYPING', { channelId: channel.id })
    const { id } = await ann.says('marker', environment.channel.general)
    await late.waitFor('NEW_MESSAGE', { id })
    expect(late.all('TYPING')).toEqual([])
  })

  test('is for those who may read the channel', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const path = `/channels/${environment.channel.secret.id}/typing`
    const statuses = [ada, bob, cat, nobody].map(async (person) => (await person.put(path)).status)
    expect(await Promise.all(statuses)).toEqual([200, 200, 403, 401])
    for (const id of [uuidv7(), 'nonsense'])
      expect(await ann.put(`/channels/${id}/typing`)).toMatchObject({ status: 404 })
  })
})

test('is sent once in two seconds, for any number of requests', async () => {
  const { ann, bob } = environment.people
  const { id } = await ann.creates({ name: 'hasty', isPrivate: true, members: [bob.id] })
  const typing = `/channels/${id}/typing`
  environment.stopClock()
  for (let round = 0; round < 20; round++) expect(await ann.put(typing)).toMatchObject({ status: 200 })
  await bob.put(typing)
  await environment.events.to(bob).toHave('TYPING', { channelId: id, userId: bob.id })
  const stream = await follow(bob)
  environment.pass(2_000)
  await ann.put(typing)
  await ann.put(typing)
  await bob.put(typing)
  await stream.waitFor('TYPING', { channelId: id, userId: bob.id })
  expect(stream.all('TYPING').map(({ userId }) => userId)).toEqual([ann.id, bob.id])
})

describe('PUT /conversations/:conversationId/typing', () => {
  test('sends the event to the participants, and only they may type', async () => {
    const { ada, ann, bob, cat, nobody } = environment.people
    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    const path = `/conversations/${conversation.id}/typing`
    expect(await ann.put(path)).toMatchObject({ status: 200 })
    const typing = { channelId: conversation.id, userId: ann.id, userName: ann.userName }
    await environment.events.to(bob).toHave('TYPING', typing)
    for (const person of [ada, cat]) {
      expect(await person.put(path)).toMatchObject({ status: 403 })
      await environment.events.to(person).neverHave('TYPING', { channelId: conversation.id })
    }
    expect(await nobody.put(path)).toMatchObject({ status: 401 })
    expect(await ann.put(`/channels/${conversation.id}/typing`)).toMatchObject({ status: 404 })
    expect(await ann.put(`/conversations/dm:${uuidv7()}/typing`)).toMatchObject({ status: 404 })
  })
})

test('while Redis is unavailable, typing sends nothing, and does no harm', async () => {
  const { ann, bob } = environment.people
  const path = `/channels/${environment.channel.open.id}/typing`
  const stream = await follow(bob)
  await environment.redis.kill('SIGKILL')
  expect(await ann.put(path)).toMatchObject({ status: 200 })
  await environment.redis.restart()
  const again = setInterval(() => void ann.put(path), 100)
  onTestFinished(() => clearInterval(again))
  await stream.waitFor('TYPING', { userId: ann.id })
})
