import { newMember, Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test } from 'vitest'

const environment = testEnvironment()
const joins = (name: string) => Person.signIn(environment.baseUrl, `${name}@example.com`)
const namesSeenBy = async (person: Person): Promise<string[]> =>
  (await person.get('/users')).body.users.map(({ userName }: { userName: string }) => userName)

describe('GET /users', () => {
  test('lists everybody by name, without secrets', async () => {
    const { ada, ann, bob, cat } = environment.people
    const { status, body } = await cat.get('/users')
    expect(status).toBe(200)
    expect(body.users).toEqual(
      [ada, ann, bob, cat].map(({ id, userName }) => ({
        ...newMember,
        id,
        userName,
        email: `${userName}@example.com`,
        ...(id === ada.id && { role: 'admin', isAdmin: true }),
        createdAt: expect.any(Number),
      })),
    )
  })

  test('is refused without a sign-in', async () => {
    expect(await environment.people.nobody.get('/users')).toMatchObject({ status: 401 })
  })
})

describe('PUT /users/me', () => {
  test('renames the caller, sends an event to everyone and is audited', async () => {
    const rob = await joins('rob')
    const { status, body } = await rob.put('/users/me', { userName: '  Robert  the Ｂold ' })
    const userName = 'Robert the Bold'

    expect({ status, body }).toEqual({
      status: 200,
      body: { user: { ...newMember, id: rob.id, userName, email: 'rob@example.com' } },
    })
    expect(await namesSeenBy(rob)).toContain(userName)
    await environment.events.to(environment.people.cat).toHave('UPDATE_USER', { id: rob.id, userName, isAdmin: false })
    expect(await environment.auditLog({ action: 'user.name.update', actorId: rob.id })).toMatchObject([
      { targetId: rob.id, metadata: { from: 'rob', to: userName }, ip: '127.0.0.1' },
    ])
  })

  test('may change the case of the caller’s name; the same name again is no change', async () => {
    const carol = await joins('carol')
    for (const _ of [1, 2]) expect(await carol.put('/users/me', { userName: 'Carol' })).toMatchObject({ status: 200 })
    expect(await environment.auditLog({ action: 'user.name.update', actorId: carol.id })).toHaveLength(1)
  })

  test('a name that differs only by look-alike letters of another script, or begins with @, is refused', async () => {
    const [mallory] = [await joins('mallory'), await joins('admin')]
    for (const userName of ['\u0430dmin', '\u0410DMIN', '@admin', '\uFF20mallory']) {
      const response = await mallory.put('/users/me', { userName })
      expect(response).toMatchObject({ status: 400, body: { error: expect.any(String) } })
    }
    expect(await mallory.put('/users/me', { userName: 'm\u0430llory' })).toMatchObject({ status: 200 })
  })

  test('a name from before the rules of names stays', async () => {
    const old = await joins('old')
    const name = { userName: '@old', userNameKey: '@old' }
    await environment.deps.db.updateTable('users').set(name).where('id', '=', old.id).execute()
    expect(await old.put('/users/me', { userName: '@old' })).toMatchObject({ status: 200 })
    expect(await old.put('/users/me', { userName: '@older' })).toMatchObject({ status: 400 })
  })

  test('four people want the same name at once: one gets it', async () => {
    const people = await Promise.all(['dan', 'dora', 'dick', 'dave'].map(joins))
    const responses = await Promise.all(
      people.map((person, index) => person.put('/users/me', { userName: index % 2 ? 'DUKE' : 'duke' })),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
    expect(responses.find(({ status }) => status === 400)?.body).toMatchObject({ code: 'duplicate' })
  })

  test('the length counts as the name is stored: trimmed and in NFKC', async () => {
    const nora = await joins('nora')
    const userName = 'é'.repeat(64)
    expect(await nora.put('/users/me', { userName: `  ${userName.normalize('NFD')}  ` })).toMatchObject({
      status: 200,
      body: { user: { userName } },
    })
    // NFKC makes three letters of this one.
    const ligatures = await nora.put('/users/me', { userName: '\uFB03'.repeat(22) })
    expect(ligatures).toMatchObject({ status: 400, body: { error: 'userName is longer than 64 characters' } })
  })

  let eve: Person
  beforeAll(async () => {
    eve = await joins('eve')
  })
  test.each([
    ['the name of somebody else, in another case', 'BOB'],
    ['the word that calls everybody', 'channel'],
    ['nothing', ''],
    ['spaces', '   '],
    ['too much', 'a'.repeat(65)],
    ['an invisible character', 'An\u202En'],
    ['U+0000', 'An\0n'],
    ['a number', 7],
    ['no field', undefined],
  ])('%s is refused', async (_, userName) => {
    expect(await eve.put('/users/me', { userName })).toMatchObject({
      status: 400,
      body: { error: expect.any(String) },
    })
    expect(await namesSeenBy(eve)).toContain('eve')
  })
})

describe('POST /users/exit', () => {
  test('ends sessions, streams and memberships, frees name and address, and sends an event to everyone', async () => {
    const gina = await joins('gina')
    const channel = await gina.creates({ name: 'of gina', isPrivate: true })
    const stream = await gina.opensStream()
    expect(await gina.post('/users/exit')).toMatchObject({
      status: 200,
      body: { success: true, message: expect.any(String) },
    })

    await stream.ended
    expect(await gina.get('/users')).toMatchObject({ status: 401 })
    await environment.events.to(environment.people.cat).toHave('USER_EXIT', { id: gina.id, userName: 'gina' })
    expect(await environment.auditLog({ action: 'user.exit', actorId: gina.id })).toHaveLength(1)
    const { body } = await environment.people.ada.get('/channels')
    expect(body.channels).toContainEqual(expect.objectContaining({ id: channel.id, members: [] }))
    expect(await joins('gina')).toMatchObject({ userName: 'gina', id: expect.not.stringMatching(gina.id) })
  })
})
