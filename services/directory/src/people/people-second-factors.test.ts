import { openMailbox, Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { TOTP } from 'otpauth'
import { afterAll, expect, test } from 'vitest'

// Opened before the test environment, which gets its address.
const mailbox = await openMailbox()
afterAll(() => mailbox.close())

const environment = testEnvironment({ email: { host: '127.0.0.1', port: mailbox.port } })

let round = 0
/** A person with an authenticator app. */
async function somebodyWithApp() {
  const email = `app-${++round}@example.com`
  const person = await Person.signIn(environment.baseUrl, email)
  const { secret } = (await person.post('/auth/totp')).body
  const confirmed = await person.post('/auth/totp/confirm', { code: new TOTP({ secret }).generate() })
  expect(confirmed.status).toBe(200)
  return { person, email }
}
const signIn = (email: string) => environment.people.nobody.post('/auth/dev-login', { email })
const remove = (by: Person, id: string) => by.delete(`/users/${id}/second-factors`)

test('an admin removes lost factors; their owner signs in without them and gets a mail', async () => {
  const { ada } = environment.people
  const { person, email } = await somebodyWithApp()
  expect((await signIn(email)).body).toMatchObject({ mfaRequired: true })

  expect(await remove(ada, person.id)).toMatchObject({ status: 200, body: { success: true } })
  expect((await signIn(email)).body).toMatchObject({ token: expect.any(String) })
  const { body } = await person.get('/auth/second-factors')
  expect(body).toMatchObject({ totp: false, passkeys: 0, recoveryCodes: 0 })
  expect(await environment.auditLog({ action: 'mfa.reset', targetId: person.id })).toMatchObject([
    { actorId: ada.id, ip: '127.0.0.1', metadata: { totp: true, passkeys: 0 } },
  ])
  await expect
    .poll(() => mailbox.letters.filter(({ to }) => to === email).map(({ source }) => source))
    .toContainEqual(expect.stringMatching(/An admin removed all second\s+factors/))
})

test('only admins can, and not for themselves', async () => {
  const { ada, cat } = environment.people
  const { person } = await somebodyWithApp()
  expect(await remove(cat, person.id)).toMatchObject({ status: 403 })
  expect(await remove(ada, ada.id)).toMatchObject({ status: 400 })
  expect((await person.get('/auth/second-factors')).body).toMatchObject({ totp: true })
  expect(await environment.auditLog({ action: 'mfa.reset', targetId: person.id })).toEqual([])
})

test('a person without factors, and an unknown person, get 404', async () => {
  const { ada, cat } = environment.people
  for (const id of [cat.id, '0190a000-0000-7000-8000-000000000001', 'no-id']) {
    expect(await remove(ada, id)).toMatchObject({ status: 404 })
  }
})
