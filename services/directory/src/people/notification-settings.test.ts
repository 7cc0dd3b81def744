import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { expect, test } from 'vitest'

const environment = testEnvironment()

test('each person has notification settings of their own, and other values are refused', async () => {
  const { ann, bob } = environment.people
  const settings = async (person: Person) => (await person.get('/users/me/notifications')).body
  const put = (body: unknown) => ann.put('/users/me/notifications', body)
  expect(await settings(ann)).toEqual({ mailsMissedMessages: true, mailLanguage: null, mailsAfterSeconds: null })

  expect(await put({ mailsMissedMessages: false })).toMatchObject({ status: 200, body: { mailsMissedMessages: false } })
  expect(await settings(ann)).toMatchObject({ mailsMissedMessages: false, mailLanguage: null })
  expect(await settings(bob)).toMatchObject({ mailsMissedMessages: true })
  expect(await put({ mailsMissedMessages: true })).toMatchObject({ status: 200 })
  expect(await settings(ann)).toMatchObject({ mailsMissedMessages: true })

  expect(await put({ mailLanguage: 'de' })).toMatchObject({ status: 200, body: { mailLanguage: 'de' } })
  expect(await settings(ann)).toMatchObject({ mailsMissedMessages: true, mailLanguage: 'de' })
  expect(await settings(bob)).toMatchObject({ mailLanguage: null })

  const refused = [{}, [], { mailsMissedMessages: 'false' }, { mailLanguage: 'fr' }, { mailLanguage: 1 }]
  for (const body of refused) {
    expect(await put(body)).toMatchObject({ status: 400, body: { error: expect.any(String) } })
  }
  expect((await Person.nobody(environment.baseUrl).get('/users/me/notifications')).status).toBe(401)
})
