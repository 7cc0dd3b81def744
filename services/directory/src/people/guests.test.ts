import { randomUUID } from 'node:crypto'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test } from 'vitest'

const environment = testEnvironment()
const idsOf = (items: { id: string }[]) => items.map(({ id }) => id).sort()
const idsSeenBy = async (person: Person, path: string, name: string) => idsOf((await person.get(path)).body[name])

async function comesAsGuest(name: string): Promise<Person> {
  const email = `${name}@example.com`
  await environment.people.ada.post('/users/add', { email, role: 'guest' })
  return Person.signIn(environment.baseUrl, email)
}

/** A guest who shares only `shared`, a public channel, with bob. */
let gus: Person
let shared: Awaited<ReturnType<Person['creates']>>
beforeAll(async () => {
  gus = await comesAsGuest('gus')
  shared = await environment.people.bob.creates({ name: 'shared', members: [gus.id] })
})

describe('a guest', () => {
  test('sees the channels of which they are a member, and no others', async () => {
    const { ann } = environment.people
    const { open } = environment.channel
    await ann.says('said in open', open)
    const said = await ann.says('said in shared', shared)
    expect(await idsSeenBy(gus, '/channels', 'channels')).toEqual([shared.id])
    expect(await idsSeenBy(gus, '/channels?q=e', 'channels')).toEqual([shared.id])
    expect(await idsSeenBy(gus, '/channels?scope=joined', 'channels')).toEqual([shared.id])
    for (const path of [`/channels/${open.id}`, `/channels/${open.id}/messages`, `/channels/${open.id}/members`]) {
      expect(await gus.get(path)).toMatchObject({ status: 403 })
    }
    expect(await gus.post(`/channels/${open.id}/messages`, { content: 'hello' })).toMatchObject({ status: 403 })
    expect(await gus.post(`/channels/${open.id}/join`)).toMatchObject({ status: 404 })
    const { body } = await gus.get('/search/messages?q=said')
    expect(idsOf(body.messages)).toEqual([said.id])
  })

  test('sees the people with whom they share a channel, and no others', async () => {
    const { ada, ann, bob } = environment.people
    // Ann has posted to `shared` and so joined it.
    const seen = [gus.id, bob.id, ann.id].sort()
    expect(await idsSeenBy(gus, '/users', 'users')).toEqual(seen)
    expect(await idsSeenBy(gus, `/users?ids=${[gus, ada, bob].map(({ id }) => id)}`, 'users')).toEqual(
      [gus.id, bob.id].sort(),
    )
    expect(await idsSeenBy(gus, '/users?q=a', 'users')).toEqual([ann.id])
    expect(await idsSeenBy(gus, `/users?q=a&channelId=${shared.id}`, 'users')).toEqual([ann.id])
    expect((await gus.get('/presence')).body.presence).toMatchObject([{ userId: gus.id }])
    expect((await gus.get(`/presence?ids=${bob.id}`)).body.presence).toMatchObject([{ userId: gus.id }])
    expect(await idsSeenBy(ada, `/users?q=gus`, 'users')).toEqual([gus.id])
  })

  test('creates, changes and joins no channel', async () => {
    expect(await gus.post('/channels', { name: 'of a guest' })).toMatchObject({ status: 403 })
    expect(await gus.put(`/channels/${shared.id}`, { topic: 'x' })).toMatchObject({ status: 403 })
  })

  test('writes directly to the people they see, and those to the guest', async () => {
    const { ada, bob, cat } = environment.people
    expect(await gus.post('/conversations', { targetUserId: bob.id })).toMatchObject({ status: 200 })
    expect(await gus.post('/conversations', { targetUserId: cat.id })).toMatchObject({ status: 400 })
    expect(await cat.post('/conversations', { targetUserId: gus.id })).toMatchObject({ status: 403 })
    expect(await ada.post('/conversations', { targetUserId: gus.id })).toMatchObject({ status: 403 })
  })

  test('does not learn that an id belonged to a person who was removed', async () => {
    const { ada } = environment.people
    const former = await Person.signIn(environment.baseUrl, 'former@example.com')
    expect(await ada.delete(`/users/${former.id}`)).toMatchObject({ status: 200 })
    const refusalOf = async (targetUserId: string) => {
      const { status, body } = await gus.post('/conversations', { targetUserId })
      return { status, code: body.code, error: body.error }
    }
    expect(await refusalOf(former.id)).toEqual(await refusalOf(randomUUID()))
  })

  test('mentions the people they see, and not everybody, strangers or groups', async () => {
    const { ada, bob, cat } = environment.people
    const { group } = (await ada.post('/groups', { handle: 'sellers', name: 'Sales', members: [bob.id] })).body
    const said = await gus.says('@channel and @here and @bob, @cat, @sellers', shared)
    expect(said.mentions).toEqual([bob.id])
    const edited = await gus.put(`/messages/${said.id}`, { content: '@cat, @sellers and @gus' })
    expect(edited.body.message.mentions).toEqual([gus.id])
    expect((await bob.says('@channel @cat @sellers', shared)).mentions).toEqual([
      '@channel',
      cat.id,
      `group:${group.id}`,
    ])
    const { body } = await gus.post(`/messages/${(await bob.says('parent', shared)).id}/thread`, { content: '@here' })
    expect(body.reply.mentions).toEqual([])
  })
})

describe('the streams of a guest', () => {
  test.each(['all', 'joined'])('of scope=%s have only the data that the guest may see', async (scope) => {
    const { ann, bob, cat } = environment.people
    const { open, secret } = environment.channel
    const watched = { scope, ...(scope === 'joined' && { watch: open.id }) }
    // The events of earlier tests must be delivered before the stream begins.
    const earlier = await gus.opensStream()
    await earlier.waitFor('NEW_MESSAGE', { id: (await bob.says('the last one before', shared)).id })
    await earlier.close()
    const stream = await gus.opensStream(undefined, watched)
    await ann.says('@gus in open', open)
    await bob.says('in secret', secret)
    await ann.creates({ name: `public for ${scope}` })
    await cat.put('/users/me', { title: `of ${scope}` })
    await ann.put(`/channels/${open.id}/typing`)
    await bob.put('/users/me', { title: `of ${scope}` })
    const said = await bob.says('in shared', shared)
    await stream.waitFor('NEW_MESSAGE', { id: said.id })
    const kinds = stream.received.map(({ type }) => type).filter((type) => type !== 'READ_UPDATE')
    expect(kinds).toEqual(['CONNECTED', 'UPDATE_USER', 'NEW_MESSAGE'])

    const cursor = stream.received[0]!.cursor!
    const again = await gus.opensStream(cursor, watched)
    await again.waitFor('NEW_MESSAGE', { id: said.id })
    expect(again.received.map(({ type }) => type).filter((type) => type !== 'READ_UPDATE')).toEqual(kinds)
    await Promise.all([stream.close(), again.close()])
  })

  test('have no events of groups for a guest, except an UPDATE_USER when they join one', async () => {
    const { ada, ann } = environment.people
    const { group } = (await ada.post('/groups', { handle: 'visitors', name: 'Visitors' })).body
    await ada.put(`/channels/${shared.id}`, { groups: [group.id] })
    expect((await gus.get(`/channels/${shared.id}`)).body.channel).not.toHaveProperty('groups')
    const stream = await gus.opensStream()
    await ada.put(`/groups/${group.id}/members`, { add: [gus.id] })
    await stream.waitFor('UPDATE_USER', { id: gus.id })
    expect((await gus.get('/auth/me')).body.groups).toEqual([group.id])
    const said = await ann.says('hello @visitors', shared)
    await stream.waitFor('NEW_MESSAGE', { id: said.id })
    expect(stream.all('UPDATE_GROUP')).toEqual([])
    await ada.delete(`/groups/${group.id}`)
    await stream.close()
  })

  test('have the events of a public channel while the guest is a member', async () => {
    const { ann } = environment.people
    const channel = await ann.creates({ name: 'for a while' })
    const anns = await ann.opensStream()
    const before = await ann.says('before', channel)
    // Rights are checked at delivery: a message that is delivered after the guest was added would arrive.
    await anns.waitFor('NEW_MESSAGE', { id: before.id })
    await anns.close()
    const stream = await gus.opensStream()
    await ann.put(`/channels/${channel.id}`, { members: [ann.id, gus.id] })
    await stream.waitFor('NEW_CHANNEL', { id: channel.id, lastSeq: 1 })
    expect((await gus.get(`/channels/${channel.id}`)).body.channel).toMatchObject({ readSeq: 1, unreadCount: 0 })
    const said = await ann.says('meanwhile', channel)
    await stream.waitFor('NEW_MESSAGE', { id: said.id })
    await ann.put(`/channels/${channel.id}`, { members: [ann.id] })
    await stream.waitFor('DELETE_CHANNEL', { id: channel.id })
    await ann.says('after', channel)
    const last = await ann.says('in shared', shared)
    await stream.waitFor('NEW_MESSAGE', { id: last.id })
    expect(stream.all('NEW_MESSAGE')).toHaveLength(2)
    expect(await gus.post(`/channels/${channel.id}/messages`, { content: 'late' })).toMatchObject({ status: 403 })
    await stream.close()
  })

  test('of a person who becomes a guest end, and resume with the remaining channels', async () => {
    const { ada, ann } = environment.people
    const { open, general } = environment.channel
    const hal = await Person.signIn(environment.baseUrl, 'hal@example.com')
    const stream = await hal.opensStream()
    await ann.says('a member reads it', open)
    await stream.waitFor('NEW_MESSAGE')
    expect(await ada.put(`/users/${hal.id}/role`, { role: 'guest' })).toMatchObject({ status: 200 })
    await stream.ended
    expect(await hal.get(`/channels/${open.id}`)).toMatchObject({ status: 403 })
    const resumed = await hal.opensStream(stream.cursor!)
    await resumed.waitFor('UPDATE_USER', { id: hal.id, role: 'guest' })
    await ann.says('a guest does not', open)
    const said = await ann.says('but is a member of General', general)
    await resumed.waitFor('NEW_MESSAGE', { id: said.id })
    expect(resumed.all('NEW_MESSAGE')).toHaveLength(1)

    await ada.put(`/users/${hal.id}/role`, { role: 'member' })
    await resumed.ended
    const member = await hal.opensStream(resumed.cursor!)
    await member.waitFor('UPDATE_USER', { id: hal.id, role: 'member' })
    const again = await ann.says('a member reads it again', open)
    await member.waitFor('NEW_MESSAGE', { id: again.id })
    expect((await hal.get(`/channels/${open.id}`)).body.channel).toMatchObject({ unreadCount: 1 })
    await member.close()
  })
})
