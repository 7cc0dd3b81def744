import { describe, expect, test } from 'vitest'
import { runningAuth } from '../auth.testing.ts'

const paths = ['/config.json', '/auth/config']

describe('an open dev server', () => {
  const server = runningAuth({ auth: { isInviteRequired: false } })

  test.each(paths)('%s says how people sign in', async (path) => {
    expect(await server.nobody.get(path)).toMatchObject({
      status: 200,
      body: {
        auth: {
          mode: 'dev',
          hasEmail: false,
          isInviteRequired: false,
          oauthEnabled: false,
          providers: [],
          passwordResetEnabled: false,
          registrationEnabled: false,
        },
      },
    })
  })
})

describe('an open password server with e-mail and a provider', () => {
  const preset = { clientId: 'id', clientSecret: 'secret' }
  const server = runningAuth({
    auth: { authMode: 'password', isInviteRequired: false },
    email: { host: 'mail.example.com' },
    oauth: { presets: { github: preset } },
  })

  test.each(paths)('%s shows what is enabled, and no secret', async (path) => {
    const { body } = await server.nobody.get(path)
    expect(body).toEqual({
      auth: {
        mode: 'password',
        hasEmail: true,
        isInviteRequired: false,
        oauthEnabled: true,
        providers: [{ id: 'github', name: 'GitHub', loginUrl: '/auth/oauth/github' }],
        passwordResetEnabled: true,
        registrationEnabled: true,
      },
    })
  })

  test('has no dev login', async () => {
    const response = await server.nobody.post('/auth/dev-login', { email: 'ann@example.com' })
    expect(response).toMatchObject({ status: 404, body: { error: expect.any(String) } })
  })
})

describe('a magic-link server for invited people', () => {
  const server = runningAuth({ auth: { authMode: 'magic-link' }, email: { host: 'mail.example.com' } })

  test.each(paths)('%s says that links are sent, and nothing about passwords', async (path) => {
    const { body } = await server.nobody.get(path)
    expect(body).toEqual({
      auth: {
        mode: 'magic-link',
        hasEmail: true,
        isInviteRequired: true,
        oauthEnabled: false,
        providers: [],
        passwordResetEnabled: false,
        registrationEnabled: false,
      },
    })
  })
})
