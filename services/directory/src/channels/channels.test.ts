import { Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test } from 'vitest'

const environment = testEnvironment()
const nothingSet = { isMuted: false, isFavourite: false, notifiesOfAll: false }
const nothingUnread = { lastSeq: 0, readSeq: 0, unreadCount: 0, mentionCount: 0 }
let ada: Person
let ann: Person
let bob: Person
let cat: Person
beforeAll(() => {
  ;({ ada, ann, bob, cat } = environment.people)
})

const unknownId = '0190a000-0000-7000-8000-000000000001'
const seenBy = async (person: Person): Promise<{ id: string; members: string[] }[]> =>
  (await person.get('/channels')).body.channels

describe('POST /channels', () => {
  test('creates a private channel with its creator as a member, and sends an event to its audience', async () => {
    const wish = { name: ' Launch  Plan ', topic: 'To the moon', isPrivate: true, members: [bob.id, bob.id] }
    const { status, body } = await ann.post('/channels', wish)
    const channel = {
      id: expect.any(String),
      name: 'Launch Plan',
      topic: 'To the moon',
      isPrivate: true,
      members: [ann.id, bob.id],
      memberCount: 2,
      createdBy: ann.id,
      createdAt: expect.any(Number),
      updatedAt: null,
    }

    expect({ status, body }).toEqual({ status: 200, body: { channel } })
    for (const person of [ada, ann, bob])
      await environment.events.to(person).toHave('NEW_CHANNEL', { ...body.channel, lastSeq: 0 })
    await environment.events.to(cat).neverHave('NEW_CHANNEL', { id: body.channel.id })
    expect(await environment.auditLog({ action: 'channel.create', targetId: body.channel.id })).toMatchObject([
      { actorId: ann.id, ip: '127.0.0.1' },
    ])
  })

  test('is public by default, and without a topic', async () => {
    expect(await ann.post('/channels', { name: 'plain', topic: '  ' })).toMatchObject({
      status: 200,
      body: { channel: { isPrivate: false, topic: null, members: [ann.id] } },
    })
  })

  test('may have a name of 80 characters, counted as it is stored: trimmed and in NFKC', async () => {
    const name = 'é'.repeat(80)
    const channel = await ann.creates({ name: `  ${name.normalize('NFD')}  ` })
    expect(channel.name).toBe(name)
    expect(await ann.put(`/channels/${channel.id}`, { name: `${name.normalize('NFD')}e` })).toMatchObject({
      status: 400,
    })
  })

  test('eight people want the same name at once: one gets it', async () => {
    const names = ['Race', 'RACE', 'race', 'ｒａｃｅ', 'Race', 'race', ' race ', 'rAcE']
    const responses = await Promise.all(names.map((name, index) => (index % 2 ? ann : bob).post('/channels', { name })))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(400)])
    expect(responses.find(({ status }) => status === 400)?.body).toMatchObject({ code: 'duplicate' })
  })

  test('is refused to somebody who becomes a guest while the request waits', async () => {
    const eve = await Person.signIn(environment.baseUrl, 'soon-a-guest@example.com')
    const { creation } = await environment.deps.db.transaction().execute(async (trx) => {
      await trx.updateTable('users').set({ isGuest: true }).where('id', '=', eve.id).execute()
      const creation = eve.post('/channels', { name: 'of a guest' })
      await somebodyWaitsFor(trx)
      return { creation }
    })
    expect(await creation).toMatchObject({ status: 403 })
    await ann.creates({ name: 'of a guest' })
  })

  test('accepts thousands of members', async () => {
    const row = { passwordHash: null, autoJoined: true, createdAt: 0, removedAt: null }
    const many = Array.from(
      { length: 9_000 },
      (_, index) => `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`,
    )
    for (const ids of [many.slice(0, 4_500), many.slice(4_500)]) {
      const rows = ids.map((id) => ({ ...row, id, userName: id, userNameKey: id, email: id }))
      await environment.deps.db.insertInto('users').values(rows).execute()
    }
    const channel = await ann.creates({ name: 'everybody', members: many })
    expect(channel.members).toHaveLength(9_001)
    expect(await ann.put(`/channels/${channel.id}`, { members: [] })).toMatchObject({
      status: 200,
      body: { channel: { members: [ann.id] } },
    })
  })

  test.each([
    ['no name', {}],
    ['an empty name', { name: '' }],
    ['a blank name', { name: '  ' }],
    ['a long name', { name: 'a'.repeat(81) }],
    ['an invisible character', { name: 'a\u200Bb' }],
    ['U+0000', { name: 'a\0b' }],
    ['a number', { name: 7 }],
    ['a long topic', { name: 'ok', topic: 'a'.repeat(251) }],
    ['a word for a flag', { name: 'ok', isPrivate: 'yes' }],
    ['a member who is nobody', { name: 'ok', members: [unknownId] }],
    ['a member of another form', { name: 'ok', members: ['bob'] }],
    ['members that are no list', { name: 'ok', members: 'bob' }],
    ['broken JSON', '{"name":'],
  ])('%s is 400', async (_, body) => {
    expect(await ann.post('/channels', body)).toMatchObject({ status: 400, body: { error: expect.any(String) } })
  })

  test('with more than 10,000 members in the request is refused', async () => {
    const post = (count: number) => ann.post('/channels', { name: 'so many', members: Array(count).fill(bob.id) })
    expect(await post(10_001)).toMatchObject({ status: 400 })
    expect(await post(10_000)).toMatchObject({ status: 200 })
  })

  test('is refused without a sign-in', async () => {
    expect(await environment.people.nobody.post('/channels', { name: 'mine' })).toMatchObject({ status: 401 })
  })
})

describe('GET /channels', () => {
  test('lists public channels for everybody, private ones for members and admins', async () => {
    const open = await ann.creates({ name: 'lobby' })
    const closed = await ann.creates({ name: 'closed', isPrivate: true, members: [bob.id] })

    for (const person of [ann, bob, ada]) {
      const seen = await seenBy(person)
      expect(seen).toContainEqual({ ...closed, ...nothingSet, ...nothingUnread, isMember: person !== ada })
      expect(seen).toContainEqual({ ...open, ...nothingSet, ...nothingUnread, isMember: person === ann })
    }
    const ids = (await seenBy(cat)).map(({ id }) => id)
    expect(ids).toContain(open.id)
    expect(ids).not.toContain(closed.id)
  })

  test('is refused without a sign-in', async () => {
    expect(await environment.people.nobody.get('/channels')).toMatchObject({ status: 401 })
  })
})

describe('DELETE /channels/:channelId', () => {
  test('deletes it for its creator, with an event for its readers, and frees the name', async () => {
    const channel = await ann.creates({ name: 'short-lived', isPrivate: true, members: [bob.id] })
    expect(await ann.delete(`/channels/${channel.id}`)).toMatchObject({ status: 200, body: { success: true } })

    const gone = { id: channel.id, name: 'short-lived' }
    for (const person of [ada, ann, bob]) await environment.events.to(person).toHave('DELETE_CHANNEL', gone)
    await environment.events.to(cat).neverHave('DELETE_CHANNEL', { id: channel.id })
    expect((await seenBy(ada)).map(({ id }) => id)).not.toContain(channel.id)
    expect(await environment.auditLog({ action: 'channel.delete', targetId: channel.id })).toMatchObject([
      { actorId: ann.id },
    ])
    expect(await ann.delete(`/channels/${channel.id}`)).toMatchObject({ status: 404 })
  })

  test('deletes its messages and everything that depends on them', async () => {
    const channel = await ann.creates({ name: 'to be forgotten' })
    await ann.says('soon gone', channel)
    const kept = await ann.says('stays', environment.channel.open)
    const idsIn = async (channelId: string) => {
      const query = environment.deps.db.selectFrom('messages').select('id').where('channelId', '=', channelId)
      return (await query.execute()).map(({ id }) => id)
    }
    expect(await idsIn(channel.id)).toHaveLength(1)
    await ann.delete(`/channels/${channel.id}`)
    await expect.poll(() => idsIn(channel.id), { timeout: 20_000 }).toEqual([])
    expect(await idsIn(environment.channel.open.id)).toContain(kept.id)
    expect(await ann.put(`/channels/${channel.id}`, { name: 'back' })).toMatchObject({ status: 404 })
    await ann.creates({ name: 'Short-Lived' })
  })

  test('is for the creator and admins', async () => {
    const channel = await ann.creates({ name: 'guarded', isPrivate: true, members: [bob.id] })
    for (const person of [bob, cat]) {
      expect(await person.delete(`/channels/${channel.id}`)).toMatchObject({ status: 403 })
    }
    expect(await environment.people.nobody.delete(`/channels/${channel.id}`)).toMatchObject({ status: 401 })
    expect(await ada.delete(`/channels/${channel.id}`)).toMatchObject({ status: 200 })
  })

  test.each([unknownId, 'nonsense', `dm:${unknownId}`])('%s is 404', async (id) => {
    expect(await ada.delete(`/channels/${id}`)).toMatchObject({ status: 404 })
  })
})

describe('GET /channels/:channelId', () => {
  test('returns the item of the listing, to people who may read the channel', async () => {
    const { ada, bob, cat, nobody } = environment.people
    const { secret } = environment.channel
    const listed = (await bob.get('/channels')).body.channels.find(({ id }: { id: string }) => id === secret.id)
    expect(await bob.get(`/channels/${secret.id}`)).toMatchObject({ status: 200, body: { channel: listed } })
    expect((await bob.get(`/channels/${secret.id}`)).body.channel).toEqual({ ...listed, groups: [] })
    expect((await ada.get(`/channels/${secret.id}`)).status).toBe(200)
    expect((await cat.get(`/channels/${secret.id}`)).status).toBe(403)
    expect((await nobody.get(`/channels/${secret.id}`)).status).toBe(401)
    for (const id of [unknownId, 'nonsense']) expect((await bob.get(`/channels/${id}`)).status).toBe(404)
  })
})
