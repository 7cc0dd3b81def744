import { Person } from '@parley/test'
import { appUrl, createBrowser } from '@parley/test/browser'
import { afterAll, describe, expect, test } from 'vitest'
import { runningAuth } from '../auth.testing.ts'
import { customProvider, json, startProvider } from '../oauth/provider-servers.testing.ts'

const provider = await startProvider()
afterAll(() => provider.close())

const open = { authMode: 'password', isInviteRequired: false, appUrl } as const

describe('a registration with somebody else’s address', () => {
  const server = runningAuth({
    auth: open,
    oauth: { custom: [customProvider('one', provider.url)] },
    chat: { initialUser: { password: 'first password' } },
  })
  const login = (email: string) => server.nobody.post('/auth/password-login', { email, password: 'of the intruder' })
  const comesIn = async (email: string) => {
    provider.answers['/profile'] = json({ email, name: 'the owner' })
    const { access_token } = await createBrowser(server.nobody.baseUrl, null).arrive(`${appUrl}/auth/oauth/one`)
    return new Person(server.nobody.baseUrl, { id: '', userName: '' }, access_token!)
  }

  test('when the owner signs in through a provider, the account is theirs and the other person is signed out', async () => {
    const email = 'owner@example.com'
    const { body } = await server.nobody.post('/auth/register', { email, password: 'of the intruder' })
    const intruder = new Person(server.nobody.baseUrl, { id: '', userName: '' }, body.accessToken)
    expect(await intruder.get('/auth/me')).toMatchObject({ status: 200 })

    const owner = await comesIn(email)
    const me = await owner.get('/auth/me')
    expect(me).toMatchObject({ status: 200, body: { user: { email } } })
    expect(await intruder.get('/auth/me')).toMatchObject({ status: 401 })
    expect(await server.nobody.post('/auth/refresh', { refreshToken: body.refreshToken })).toMatchObject({
      status: 401,
    })
    expect(await login(email)).toMatchObject({ status: 401 })
    const entries = await server.deps.db
      .selectFrom('auditLog')
      .selectAll()
      .where('action', '=', 'user.password.reset')
      .execute()
    expect(entries).toMatchObject([{ targetId: me.body.user.id, metadata: { reason: 'address proven' } }])

    await comesIn(email)
    expect(await owner.get('/auth/me')).toMatchObject({ status: 200 })
  })

  test('a password set by an invitation stays when its owner signs in through a provider', async () => {
    await server.invite('given@example.com', 'of the intruder')
    await comesIn('given@example.com')
    expect(await login('given@example.com')).toMatchObject({ status: 200 })
  })
})
