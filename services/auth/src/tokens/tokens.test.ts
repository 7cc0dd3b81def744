import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test } from 'vitest'

const environment = testEnvironment()
/** Creates an API token, and returns a person who has no other credentials. */
async function holder(owner: Person, scopes: string[], more: object = {}) {
  const { status, body } = await owner.post('/auth/tokens', { name: 'a program', scopes, ...more })
  expect({ status, body }).toMatchObject({ status: 200 })
  return Object.assign(new Person(environment.baseUrl, owner, body.token), { tokenId: body.id as string })
}
const auditOf = async (tokenId: string) => {
  const { entries } = (await environment.people.ada.get('/admin/audit-log?limit=100')).body
  return entries.filter(({ targetId }: { targetId: string }) => targetId === tokenId)
}

describe('POST /auth/tokens', () => {
  test('returns the token once; it works in place of an access token, also in a query', async () => {
    const { ann } = environment.people
    const { body } = await ann.post('/auth/tokens', { name: ' my  program ', scopes: ['write', 'write'] })
    expect(body).toEqual({
      id: expect.any(String),
      token: expect.stringMatching(/^parley_pat_[\w-]{86}$/),
      name: 'my program',
      scopes: ['write'],
      createdAt: expect.any(Number),
      lastUsedAt: null,
      expiresAt: null,
    })
    const program = new Person(environment.baseUrl, ann, body.token)
    expect((await program.get('/auth/me')).body.user).toMatchObject({ id: ann.id })
    const stream = await program.opensStream()
    const { author } = await program.says('sent by a program', environment.channel.general)
    expect(author.id).toBe(ann.id)
    await stream.waitFor('NEW_MESSAGE', { content: 'sent by a program' })
    await stream.close()
    const attachment = await program.uploads('notes.txt', 'by a program')
    expect((await program.downloads(`/files/${attachment.filename}`)).bytes.toString()).toBe('by a program')

    const stored = await environment.deps.db.selectFrom('sessions').selectAll().where('id', '=', body.id).execute()
    expect(JSON.stringify(stored)).not.toContain(body.token)
    expect(await auditOf(body.id)).toMatchObject([
      { action: 'token.create', actorId: ann.id, metadata: { name: 'my program', scopes: ['write'] } },
    ])
  })

  test.each([
    ['no name', { scopes: ['read'] }, 400],
    ['an invisible name', { name: '\u200b', scopes: ['read'] }, 400],
    ['no scope', { name: 'x', scopes: [] }, 400],
    ['an unknown scope', { name: 'x', scopes: ['root'] }, 400],
    ['an expiry in the past', { name: 'x', scopes: ['read'], expiresAt: 1 }, 400],
    ['an expiry that is too large a number', { name: 'x', scopes: ['read'], expiresAt: 8_640_000_000_000_001 }, 400],
    ['the scope admin for somebody who is not an admin', { name: 'x', scopes: ['read', 'admin'] }, 403],
  ])('refuses %s', async (_, body, status) => {
    expect(await environment.people.bob.post('/auth/tokens', body)).toMatchObject({ status })
  })

  test('a person has at most 100, also with concurrent requests', async () => {
    const eve = await Person.signIn(environment.baseUrl, 'eve@example.com')
    const ask = () => eve.post('/auth/tokens', { name: 'one of many', scopes: ['read'] })
    const responses = await Promise.all(Array.from({ length: 105 }, ask))
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(100)
    expect((await eve.get('/auth/tokens')).body.tokens).toHaveLength(100)
    expect((await eve.get('/auth/sessions')).body.sessions).toHaveLength(1)
  })
})

describe('the scope of a token', () => {
  let reader: Person, writer: Person, admin: Person, writingAdmin: Person
  beforeAll(async () => {
    const { ada, ann } = environment.people
    reader = await holder(ann, ['read'])
    writer = await holder(ann, ['write'])
    admin = await holder(ada, ['admin'])
    writingAdmin = await holder(ada, ['write'])
  })
  const insufficient = { status: 403, body: { code: 'insufficient_scope' } }
  const message = () => `/channels/${environment.channel.general.id}/messages`

  test('read permits reading and nothing else', async () => {
    expect(await reader.get(message())).toMatchObject({ status: 200 })
    const refused = await reader.post(message(), { content: 'no' })
    expect(refused).toMatchObject(insufficient)
    expect(refused.headers['www-authenticate']).toBe('Bearer error="insufficient_scope"')
    expect(await reader.put('/presence/me', { status: 'away' })).toMatchObject(insufficient)
    expect(await reader.post('/files', { filename: 'x', file: 'eA==' })).toMatchObject(insufficient)
  })

  test('write includes read; requests of admins need the scope admin, also when an admin sends them', async () => {
    expect(await writer.get(message())).toMatchObject({ status: 200 })
    expect(await writingAdmin.get('/admin/audit-log')).toMatchObject(insufficient)
    expect(await admin.get('/admin/audit-log')).toMatchObject({ status: 200 })
    await admin.says('admin includes write', environment.channel.general)
  })

  test('no scope permits requests about tokens, sessions and passwords', async () => {
    const { ann, bob } = environment.people
    const scopes = { name: 'another', scopes: ['read'] }
    expect(await admin.post('/auth/tokens', scopes)).toMatchObject(insufficient)
    expect(await admin.get('/auth/tokens')).toMatchObject(insufficient)
    expect(await admin.delete('/auth/sessions')).toMatchObject(insufficient)
    expect(await admin.post('/auth/logout')).toMatchObject(insufficient)
    expect(await admin.post('/users/exit')).toMatchObject(insufficient)
    expect(await admin.post(`/users/${bob.id}/reset-password`, { password: 'longer than 8' })).toMatchObject(
      insufficient,
    )
    const added = { email: 'by-a-token@example.com', password: 'longer than 8' }
    expect(await admin.post('/users/add', added)).toMatchObject(insufficient)
    expect((await ann.get('/auth/me')).status).toBe(200)
  })

  test('admin has no effect when its owner is no longer an admin', async () => {
    const { ada } = environment.people
    const fay = await Person.signIn(environment.baseUrl, 'fay@example.com')
    await ada.put(`/users/${fay.id}/role`, { role: 'admin' })
    const program = await holder(fay, ['admin'])
    expect(await program.get('/admin/audit-log')).toMatchObject({ status: 200 })
    await ada.put(`/users/${fay.id}/role`, { role: 'user' })
    expect(await program.get('/admin/audit-log')).toMatchObject({ status: 403 })
  })
})

describe('a token ends', () => {
  const isRefused = async (program: Person) => {
    expect(await program.get('/auth/me')).toMatchObject({ status: 401 })
    expect(await program.post(`/channels/${environment.channel.general.id}/messages`, { content: 'x' })).toMatchObject({
      status: 401,
    })
  }

  test('when its owner deletes it, with its streams; nobody else can', async () => {
    const { ann, bob } = environment.people
    const program = await holder(ann, ['write'])
    const stream = await program.opensStream()
    expect(await bob.delete(`/auth/tokens/${program.tokenId}`)).toMatchObject({ status: 404 })
    expect(await ann.delete(`/auth/sessions/${program.tokenId}`)).toMatchObject({ status: 404 })
    expect(await ann.delete('/auth/tokens/nonsense')).toMatchObject({ status: 404 })
    expect(await program.get('/auth/me')).toMatchObject({ status: 200 })

    expect(await ann.delete(`/auth/tokens/${program.tokenId}`)).toMatchObject({ status: 200 })
    await isRefused(program)
    await stream.ended
    expect(await ann.delete(`/auth/tokens/${program.tokenId}`)).toMatchObject({ status: 404 })
    expect(await auditOf(program.tokenId)).toMatchObject([{ action: 'token.delete' }, { action: 'token.create' }])
  })

  test('when it expires, with its streams', async () => {
    const { ann } = environment.people
    const program = await holder(ann, ['write'], { expiresAt: environment.deps.clock() + 60_000 })
    const stream = await program.opensStream()
    environment.pass(61_000)
    await isRefused(program)
    await stream.ended
    const { tokens } = (await ann.get('/auth/tokens')).body
    expect(tokens.map(({ id }: { id: string }) => id)).not.toContain(program.tokenId)
  })

  test('when its owner is removed, but not when they sign out everywhere', async () => {
    const gil = await Person.signIn(environment.baseUrl, 'gil@example.com')
    const program = await holder(gil, ['write'])
    const stream = await program.opensStream()
    await gil.delete('/auth/sessions')
    expect(await program.get('/auth/me')).toMatchObject({ status: 200 })
    await environment.people.ada.delete(`/users/${gil.id}`)
    await isRefused(program)
    await stream.ended
    expect(await auditOf(program.tokenId)).toMatchObject([
      { action: 'token.delete', metadata: { reason: 'removed' } },
      { action: 'token.create' },
    ])
  })
})

test('a text with the ids of a token and another secret is refused', async () => {
  const program = await holder(environment.people.ann, ['write'])
  const token = program.token!
  const forged = token.slice(0, -1) + (token.endsWith('A') ? 'Q' : 'A')
  expect(await new Person(environment.baseUrl, program, forged).get('/auth/me')).toMatchObject({ status: 401 })
})

test('lastUsedAt is kept to the minute', async () => {
  const { ann } = environment.people
  const program = await holder(ann, ['read'])
  const lastUsedAt = async (): Promise<number | null> => {
    const { tokens } = (await ann.get('/auth/tokens')).body
    return tokens.find(({ id }: { id: string }) => id === program.tokenId).lastUsedAt
  }
  environment.stopClock()
  expect(await lastUsedAt()).toBe(null)
  await program.get('/auth/me')
  const first = await lastUsedAt()
  expect(first).toBe(environment.deps.clock())
  environment.pass(59_000)
  await program.get('/auth/me')
  expect(await lastUsedAt()).toBe(first)
  environment.pass(1_000)
  await program.get('/auth/me')
  expect(await lastUsedAt()).toBe(first! + 60_000)
})
