import { Person } from '@parley/test'
import { beforeAll, describe, expect, test } from 'vitest'
import { runningService } from '../../../../libs/accounts/src/service.testing.ts'
import { admin } from '../service.ts'

const server = runningService(admin)
let ada: Person
let ann: Person
beforeAll(async () => {
  ada = await server.signedIn('ada', { isAdmin: true })
  ann = await server.signedIn('ann')
  await server.recorded()
})

const path = '/server/settings'
const entries = () =>
  server.deps.db.selectFrom('auditLog').selectAll().where('action', '=', 'server.settings.update').execute()

describe('the settings of the server', () => {
  test('are for everybody to read, and an admin to change', async () => {
    expect(await ann.get(path)).toMatchObject({ status: 200, body: { name: 'Parley' } })
    expect(await ada.put(path, { name: '  Acme  Chat ' })).toMatchObject({ status: 200, body: { name: 'Acme Chat' } })
    expect(await ann.get(path)).toMatchObject({ status: 200, body: { name: 'Acme Chat' } })

    expect(await server.recorded()).toEqual([
      { type: 'UPDATE_SERVER_SETTINGS', payload: { name: 'Acme Chat' }, routing: { to: 'everyone' } },
    ])
    expect(await entries()).toMatchObject([
      { actorId: ada.id, targetType: 'server', metadata: { from: 'Parley', to: 'Acme Chat' }, ip: '127.0.0.1' },
    ])
  })

  test('set to what they are already are no event', async () => {
    const { body } = await ada.get(path)
    expect(await ada.put(path, body)).toMatchObject({ status: 200, body })
    expect(await server.recorded()).toEqual([])
  })

  test.each([[{}], [{ name: '' }], [{ name: '  ' }], [{ name: 'a'.repeat(81) }], [{ name: 7 }], ['{'], [[]]])(
    '%j is 400',
    async (body) =>
      expect(await ada.put(path, body)).toMatchObject({ status: 400, body: { error: expect.any(String) } }),
  )

  test('are refused to others', async () => {
    expect(await ann.put(path, { name: 'Mine' })).toMatchObject({ status: 403 })
    expect(await Person.nobody(server.baseUrl).put(path, { name: 'Mine' })).toMatchObject({ status: 401 })
    expect(await Person.nobody(server.baseUrl).get(path)).toMatchObject({ status: 401 })
  })
})
