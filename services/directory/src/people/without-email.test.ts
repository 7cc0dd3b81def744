import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

describe('password mode without e-mail', () => {
  const environment = testEnvironment({
    auth: { authMode: 'password', isInviteRequired: true },
    chat: { initialUser: { userName: 'ada', email: 'ada@example.com', password: 'of the first start' } },
  })
  const login = (email: string, password: string) =>
    environment.people.nobody.post('/auth/password-login', { email, password })

  test('the initial admin signs in with the password of the first start', async () => {
    expect(await login('ada@example.com', 'of the first start')).toMatchObject({ status: 200 })
  })

  test('the capabilities say that there is no registration and no password reset', async () => {
    expect((await environment.people.nobody.get('/config.json')).body).toEqual({
      auth: {
        mode: 'password',
        hasEmail: false,
        isInviteRequired: true,
        oauthEnabled: false,
        passwordResetEnabled: false,
        providers: [],
        registrationEnabled: false,
      },
    })
  })

  test('a person who is added with a password can use it; without one, an admin has to set it', async () => {
    const { ada } = environment.people
    const dan = { email: 'dan@example.com', password: 'told to dan' }
    expect(await ada.post('/users/add', dan)).toMatchObject({ status: 200 })
    expect(await login(dan.email, dan.password)).toMatchObject({ status: 200 })

    const { status, body } = await ada.post('/users/add', { email: 'eve@example.com', role: 'user' })
    expect(status).toBe(200)
    expect(await login('eve@example.com', 'anything at all')).toMatchObject({ status: 401 })
    expect(await ada.post(`/users/${body.userId}/reset-password`, { password: 'told to eve' })).toMatchObject({
      status: 200,
    })
    expect(await login('eve@example.com', 'told to eve')).toMatchObject({ status: 200 })
    expect(await environment.deps.db.selectFrom('jobs').select('id').execute()).toEqual([])
    expect(await environment.deps.db.selectFrom('oneTimeLinks').select('email').execute()).toEqual([])
  })
})
