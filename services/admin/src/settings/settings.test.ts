import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()
const path = '/server/settings'
const entries = () => environment.auditLog({ action: 'server.settings.update' })

describe('the settings of the server', () => {
  test('are for everybody to read, and an admin to change', async () => {
    const { ada, ann, cat } = environment.people
    expect(await ann.get(path)).toMatchObject({ status: 200, body: { name: 'Parley' } })
    expect(await ada.put(path, { name: '  Acme  Chat ' })).toMatchObject({ status: 200, body: { name: 'Acme Chat' } })

    expect(await ann.get(path)).toMatchObject({ status: 200, body: { name: 'Acme Chat' } })
    await environment.events.to(cat).toHave('UPDATE_SERVER_SETTINGS', { name: 'Acme Chat' })
    expect(await entries()).toMatchObject([
      { actorId: ada.id, targetType: 'server', metadata: { from: 'Parley', to: 'Acme Chat' }, ip: '127.0.0.1' },
    ])
  })

  test('stay as they are, without an audit entry, when nothing changes', async () => {
    const { ada } = environment.people
    const [{ body }, before] = await Promise.all([ada.get(path), entries()])
    expect(await ada.put(path, body)).toMatchObject({ status: 200, body })
    expect(await entries()).toEqual(before)
  })

  test.each([[{}], [{ name: '' }], [{ name: '  ' }], [{ name: 'a'.repeat(81) }], [{ name: 7 }], ['{'], [[]]])(
    '%j is 400',
    async (body) =>
      expect(await environment.people.ada.put(path, body)).toMatchObject({
        status: 400,
        body: { error: expect.any(String) },
      }),
  )

  test('are refused to others', async () => {
    const { ann, nobody } = environment.people
    expect(await ann.put(path, { name: 'Mine' })).toMatchObject({ status: 403 })
    expect(await nobody.put(path, { name: 'Mine' })).toMatchObject({ status: 401 })
    expect(await nobody.get(path)).toMatchObject({ status: 401 })
    await environment.events.to(ann).neverHave('UPDATE_SERVER_SETTINGS', { name: 'Mine' })
  })
})
