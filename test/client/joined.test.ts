import { createClient, createSyncEngine, type SyncEngine, tokensInMemory } from '@parley/client'
import type { Message } from '@parley/contract'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { afterEach, expect, test } from 'vitest'

/** What a client keeps that follows only the channels which the person has joined. */
const environment = testEnvironment()

const undo: (() => void)[] = []
afterEach(() => {
  for (const each of undo.splice(0)) each()
})

let count = 0
const unique = (name: string) => `${name}-${++count}`
const newcomer = (name: string) => Person.signIn(environment.baseUrl, `${unique(name)}@example.com`)
const contentsOf = (messages: readonly Message[] | undefined) => messages?.map(({ content }) => content)

function openPage(person: Person) {
  const asked: string[] = []
  const client = createClient({
    baseUrl: environment.baseUrl,
    tokens: tokensInMemory({ accessToken: person.token!, refreshToken: person.refreshToken }),
    fetch(input, init) {
      const { pathname, search } = new URL(String(input))
      asked.push(`${init?.method ?? 'GET'} ${pathname}${search}`)
      return fetch(input, init)
    },
  })
  const engine: SyncEngine = createSyncEngine({ client, userId: person.id, scope: 'joined' })
  undo.push(engine.close)
  return { engine, asked, client }
}

test('only joined channels are listed; joining and leaving is followed on every device', async () => {
  const { ann } = environment.people
  const lea = await newcomer('lea')
  const channel = await ann.creates({ name: unique('public') })
  const devices = [openPage(lea), openPage(lea)]
  for (const { engine } of devices) {
    await engine.ready
    expect(engine.channelIds()).not.toContain(channel.id)
  }
  await lea.post(`/channels/${channel.id}/join`)
  for (const { engine } of devices) await expect.poll(() => engine.channelIds()).toContain(channel.id)
  await ann.says('welcome', channel)
  for (const { engine } of devices) await expect.poll(() => engine.channel(channel.id)?.unreadCount).toBe(1)
  await lea.post(`/channels/${channel.id}/leave`)
  for (const { engine } of devices) await expect.poll(() => engine.channelIds()).not.toContain(channel.id)
})

test('a public channel is looked at without joining it, and followed as long as somebody does', async () => {
  const { ann, bob } = environment.people
  const mia = await newcomer('mia')
  const channel = await ann.creates({ name: unique('public') })
  const before = await ann.says('before', channel)
  const { engine, asked } = openPage(mia)
  await engine.openMessages(channel.id)
  expect(contentsOf(engine.messages(channel.id))).toEqual(['before'])
  expect(engine.channel(channel.id)).toMatchObject({ name: channel.name, isMember: false })
  expect(engine.channelIds()).not.toContain(channel.id)
  await bob.says('live', channel)
  await ann.put(`/messages/${before.id}`, { content: 'changed' })
  await expect.poll(() => contentsOf(engine.messages(channel.id))).toEqual(['changed', 'live'])
  expect(asked.some((address) => address.startsWith('GET /events') && address.includes(channel.id))).toBe(true)

  engine.closePlace(channel.id)
  expect(engine.messages(channel.id)).toBeUndefined()
  expect(engine.channel(channel.id)).toBeUndefined()
})

test('nobody is fetched but the people who are asked for, many in one request, and their names are kept up to date', async () => {
  const { ann, bob, cat } = environment.people
  const nia = await newcomer('nia')
  const { engine, asked } = openPage(nia)
  await engine.ready
  await Promise.all([
    engine.loadUsers([ann.id, bob.id]),
    engine.loadUsers([cat.id, 'webhook:1']),
    engine.loadUsers([ann.id]),
  ])
  expect([ann, bob, cat].map(({ id }) => engine.user(id)?.id)).toEqual([ann.id, bob.id, cat.id])
  expect(asked.filter((address) => address.startsWith('GET /users'))).toHaveLength(1)
  const userName = unique('cat the ')
  await cat.put('/users/me', { userName })
  await expect.poll(() => engine.user(cat.id)?.userName).toBe(userName)

  await bob.put('/presence/me', { status: 'away' })
  undo.push(engine.showPresence([bob.id]))
  await expect.poll(() => engine.presenceOf(bob.id)?.status).toBe('away')
  expect(asked.filter((address) => /^GET \/(presence|users)$/.test(address))).toEqual([])
})
