import { randomUUID } from 'node:crypto'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { newUser, patch, scimClient } from './scim.testing.ts'

const environment = testEnvironment()
const { scim, filtered } = scimClient(environment)

/** A person of the directory, who has signed in with a program that names no language. */
async function arrives(more: object = {}) {
  const email = `${randomUUID()}@example.org`
  const { id } = (await scim('POST', '/Users', newUser(email, more))).body
  const person = await Person.signIn(environment.baseUrl, email)
  return {
    email,
    path: `/Users/${id}`,
    person,
    mailLanguage: async () => (await person.get('/users/me/notifications')).body.mailLanguage,
    change: (...operations: object[]) => scim('PATCH', `/Users/${id}`, patch(...operations)),
  }
}

test('is returned as the directory has sent it, and changes the version', async () => {
  const { path, change } = await arrives({ preferredLanguage: 'de-AT' })
  const { body, headers } = await scim('GET', `${path}?attributes=preferredLanguage`)
  expect(body).toMatchObject({ preferredLanguage: 'de-AT' })
  expect(body).not.toHaveProperty('userName')
  const replaced = await change({ op: 'replace', path: 'preferredLanguage', value: 'da, en-gb;q=0.8' })
  expect(replaced).toMatchObject({ status: 200, body: { preferredLanguage: 'da, en-gb;q=0.8' } })
  expect(replaced.headers.etag).not.toBe(headers.etag)

  const { attributes } = (await scim('GET', '/Schemas/urn:ietf:params:scim:schemas:core:2.0:User')).body
  expect(attributes).toContainEqual(expect.objectContaining({ name: 'preferredLanguage', mutability: 'readWrite' }))
  expect(await filtered('preferredLanguage eq "da"')).toMatchObject({ status: 400 })
  const refused = { status: 400, body: { scimType: 'invalidValue' } }
  expect(await change({ op: 'replace', path: 'preferredLanguage', value: 7 })).toMatchObject(refused)
})

describe('a person who has not chosen a language', () => {
  test.each([
    ['de', 'de'],
    ['de_CH', 'de'],
    ['AR-eg', 'ar'],
    ['fr-CA, en;q=0.8', 'en'],
    ['fr', null],
    ['deutsch', null],
  ])('of whom the directory says %j gets mails in %s', async (preferredLanguage, language) => {
    expect(await (await arrives({ preferredLanguage })).mailLanguage()).toBe(language)
  })

  test('gets mails in another language when the directory changes or removes it, in the form of the standard and of Entra', async () => {
    const { path, change, mailLanguage } = await arrives()
    const languages: unknown[] = []
    for (const operation of [
      { op: 'add', path: 'preferredLanguage', value: 'de' },
      { op: 'Replace', path: 'urn:ietf:params:scim:schemas:core:2.0:User:preferredLanguage', value: 'ar-SA' },
      { op: 'replace', value: { preferredLanguage: 'en-US' } },
      { op: 'Remove', path: 'preferredLanguage' },
      { op: 'Add', path: 'preferredLanguage', value: [{ $ref: null, value: 'de-DE' }] },
      { op: 'Replace', path: 'preferredLanguage', value: '' },
    ]) {
      expect(await change(operation)).toMatchObject({ status: 200 })
      languages.push(await mailLanguage())
    }
    expect(languages).toEqual(['de', 'ar', 'en', null, 'de', null])
    expect((await scim('GET', path)).body).not.toHaveProperty('preferredLanguage')
  })

  test('keeps the language of their browser while the directory says none of ours', async () => {
    const { change, person, mailLanguage } = await arrives()
    const users = environment.deps.db.updateTable('users').where('id', '=', person.id)
    await users.set({ language: 'ar' }).execute()
    await change({ op: 'add', path: 'preferredLanguage', value: 'fr' })
    expect(await mailLanguage()).toBe('ar')
    await change({ op: 'replace', path: 'preferredLanguage', value: 'de' })
    expect(await mailLanguage()).toBe('de')
  })
})

test('a person keeps the language that they have chosen', async () => {
  const { email, path, change, person, mailLanguage } = await arrives({ preferredLanguage: 'ar' })
  await person.put('/users/me/notifications', { mailLanguage: 'de' })
  await change({ op: 'replace', path: 'preferredLanguage', value: 'en' })
  expect(await mailLanguage()).toBe('de')
  expect((await scim('PUT', path, newUser(email))).body).not.toHaveProperty('preferredLanguage')
  expect(await mailLanguage()).toBe('de')
})

test('the audit log has the change', async () => {
  const { change, person } = await arrives({ preferredLanguage: 'de' })
  await change(
    { op: 'replace', path: 'preferredLanguage', value: 'en' },
    { op: 'replace', path: 'active', value: true },
  )
  const { entries } = (await environment.people.ada.get('/admin/audit-log?action=user.profile.update&limit=5')).body
  const metadata = { from: { preferredLanguage: 'de' }, to: { preferredLanguage: 'en' } }
  expect(entries).toContainEqual(
    expect.objectContaining({ targetId: person.id, actorId: expect.stringMatching(/^scim:/), metadata }),
  )
})
