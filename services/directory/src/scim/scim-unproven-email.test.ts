import { randomUUID } from 'node:crypto'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { newGroup, newUser, patch, type ScimResponse, scimClient } from './scim.testing.ts'

const environment = testEnvironment({
  auth: { authMode: 'password' },
  chat: { initialUser: { userName: 'ada', email: 'ada@example.com', password: 'the first password' } },
  scim: { adminGroups: ['Owners'] },
})
const { scim, filtered } = scimClient(environment)
const password = 'of the intruder'

/** Somebody who has registered with this address and cannot read its mails. */
async function registers(email: string): Promise<Person> {
  const { status, body } = await Person.nobody(environment.baseUrl).post('/auth/register', { email, password })
  expect(status).toBe(200)
  const { id } = (await filtered(`userName eq "${email}"`)).body.Resources[0]
  return new Person(environment.baseUrl, { id, userName: email }, body.accessToken, body.refreshToken)
}

const membersOf = (id: string) => [{ value: id }]

describe('a directory that finds an account that somebody registered with the address of another person', () => {
  const ways: [string, (id: string, email: string) => Promise<ScimResponse>][] = [
    ['changes it', (id) => scim('PATCH', `/Users/${id}`, patch({ op: 'Add', path: 'externalId', value: 'of Erin' }))],
    ['replaces it', (id, email) => scim('PUT', `/Users/${id}`, newUser(email, { displayName: 'Erin' }))],
    [
      'adds it to a new group',
      (id) => scim('POST', '/Groups', newGroup(`Sales ${randomUUID()}`, { members: membersOf(id) })),
    ],
    [
      'adds it to the group of the admins',
      async (id) => {
        const { body } = await scim('POST', '/Groups', newGroup('Owners'))
        return scim('PATCH', `/Groups/${body.id}`, patch({ op: 'Add', path: 'members', value: membersOf(id) }))
      },
    ],
  ]

  test.each(ways)('%s: whoever registered it has no access any more', async (_, way) => {
    const email = `${randomUUID()}@example.org`
    const intruder = await registers(email)
    const stream = await intruder.opensStream()
    const token = (await intruder.post('/auth/tokens', { name: 'mine', scopes: ['read'] })).body.token
    expect(await scim('POST', '/Users', newUser(email))).toMatchObject({
      status: 409,
      body: { scimType: 'uniqueness' },
    })
    expect((await way(intruder.id, email)).status).toBeLessThan(300)

    await stream.ended
    const nobody = Person.nobody(environment.baseUrl)
    expect(await intruder.get('/auth/me')).toMatchObject({ status: 401 })
    expect(await new Person(environment.baseUrl, intruder, token).get('/auth/me')).toMatchObject({ status: 401 })
    expect(await nobody.post('/auth/refresh', { refreshToken: intruder.refreshToken })).toMatchObject({ status: 401 })
    expect(await nobody.post('/auth/password-login', { email, password })).toMatchObject({ status: 401 })
    const { entries } = (await environment.people.ada.get('/admin/audit-log?action=user.password.reset')).body
    expect(entries[0]).toMatchObject({
      actorId: expect.stringMatching(/^scim:/),
      targetId: intruder.id,
      metadata: { reason: 'address proven' },
    })
  })
})

test('a password that is set after the proof stays when the directory changes the account again', async () => {
  const email = `${randomUUID()}@example.org`
  const { id } = await registers(email)
  const rename = (displayName: string) =>
    scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'displayName', value: displayName }))
  await rename('Erin')
  const own = { password: 'the own password of Erin' }
  expect(await environment.people.ada.post(`/users/${id}/reset-password`, own)).toMatchObject({ status: 200 })
  expect(await rename('Erin of Sales')).toMatchObject({ status: 200 })
  const { status } = await Person.nobody(environment.baseUrl).post('/auth/password-login', { email, ...own })
  expect(status).toBe(200)
})
