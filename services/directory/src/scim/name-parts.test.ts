import { randomUUID } from 'node:crypto'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { newUser, patch, scimClient } from './scim.testing.ts'

const environment = testEnvironment()
const { scim } = scimClient(environment)

/** A person of the directory, and how the directory sees them after changes. */
async function create(more: object) {
  const created = (await scim('POST', '/Users', newUser(`${randomUUID()}@example.org`, more))).body
  const path = `/Users/${created.id}`
  return {
    created,
    path,
    change: async (...operations: object[]) => {
      expect(await scim('PATCH', path, patch(...operations))).toMatchObject({ status: 200 })
      const { displayName, name } = (await scim('GET', path)).body
      return { displayName, ...name }
    },
  }
}

const set = (path: string, value: unknown) => ({ op: 'replace', path, value })
const parts = { givenName: 'Olga', familyName: 'Okta' }

test('the parts of a name are returned as they were sent, and are attributes of the schema', async () => {
  const { created, path } = await create({ displayName: 'Olga from Oslo', name: parts })
  expect(created).toMatchObject({ displayName: 'Olga from Oslo', name: { formatted: 'Olga from Oslo', ...parts } })
  const { body } = await scim('GET', `${path}?attributes=name.familyName`)
  expect(body.name).toEqual({ familyName: 'Okta' })
  const { attributes } = (await scim('GET', '/Schemas/urn:ietf:params:scim:schemas:core:2.0:User')).body
  const { subAttributes } = attributes.find(({ name }: { name: string }) => name === 'name')
  expect(subAttributes.map(({ name }: { name: string }) => name)).toEqual(['formatted', 'givenName', 'familyName'])
})

test('a whole user without a name has none', async () => {
  const { created, path } = await create({ name: parts })
  const { body } = await scim('PUT', path, newUser(created.userName))
  expect(body).not.toHaveProperty('name')
  expect(body).not.toHaveProperty('displayName')
})

describe('a PATCH of one part', () => {
  test('changes the display name that is made of the parts', async () => {
    const { change } = await create({ name: parts })
    expect(await change(set('name.familyName', 'Berg'))).toEqual({
      displayName: 'Olga Berg',
      formatted: 'Olga Berg',
      givenName: 'Olga',
      familyName: 'Berg',
    })
    expect(await change(set('name', { givenName: 'Oda' }))).toMatchObject({
      displayName: 'Oda Berg',
      familyName: 'Berg',
    })
    expect(await change({ op: 'Remove', path: 'name.familyName' })).toMatchObject({ displayName: 'Oda' })
  })

  test('keeps another display name', async () => {
    const { change } = await create({ displayName: 'Olga from Oslo', name: parts })
    const renamed = { displayName: 'Olga from Oslo', givenName: 'Olga', familyName: 'Berg' }
    expect(await change(set('name.familyName', 'Berg'))).toMatchObject(renamed)
  })

  test('gives a display name to a person without one, in the form of Entra', async () => {
    const { change } = await create({})
    const path = 'urn:ietf:params:scim:schemas:core:2.0:User:name'
    const add = (part: string, value: string) => ({ op: 'Add', path: `${path}.${part}`, value })
    const named = await change(add('givenName', 'Olga'), add('familyName', 'Okta'))
    expect(named).toEqual({ displayName: 'Olga Okta', formatted: 'Olga Okta', ...parts })
  })

  test('changes the version of the person, and is in the audit log', async () => {
    const { created, path, change } = await create({ displayName: 'Olga from Oslo', name: parts })
    await change(set('name.familyName', 'Berg'))
    expect((await scim('GET', path)).body.meta.version).not.toBe(created.meta.version)
    const { entries } = (await environment.people.ada.get('/admin/audit-log?action=user.profile.update')).body
    const renamed = { from: parts, to: { givenName: 'Olga', familyName: 'Berg' } }
    expect(entries).toContainEqual(expect.objectContaining({ targetId: created.id, metadata: renamed }))
  })

  test('is refused when it is no text', async () => {
    const { path } = await create({ name: parts })
    for (const operation of [set('name.givenName', 7), set('name', { familyName: ['x'] })])
      expect(await scim('PATCH', path, patch(operation))).toMatchObject({
        status: 400,
        body: { scimType: 'invalidValue' },
      })
  })
})

test('the parts of a name are forgotten when the person is removed', async () => {
  const { created } = await create({ name: parts })
  expect(await environment.people.ada.delete(`/users/${created.id}`)).toMatchObject({ status: 200 })
  const rows = environment.deps.db.selectFrom('users').select(['givenName', 'familyName']).where('id', '=', created.id)
  expect(await rows.execute()).toEqual([{ givenName: null, familyName: null }])
})

test('without a formatted name, the display name is gone and the parts stay', async () => {
  const { change } = await create({ name: parts })
  expect(await change({ op: 'remove', path: 'name.formatted' })).toEqual({ displayName: undefined, ...parts })
})
