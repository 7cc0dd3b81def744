import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { childEnvironment, configToEnvironment } from './index.ts'
import { configKeys } from './keys.ts'
import { faultsOf, folder, load, minimalEnvironment } from './load.testing.ts'

describe('variables', () => {
  test('no two keys have the same variable', () => {
    const names = configKeys.flatMap(({ variables }) => variables.flatMap((name) => [name, `${name}_FILE`]))
    expect(new Set(names).size).toBe(names.length)
  })

  test('some keys have their usual names too, such as PORT', async () => {
    const env = { NODE_ENV: 'test', HOST: 'localhost', PORT: '8080', INITIAL_USER_PASSWORD: 'first password' }
    expect(await load({ env })).toMatchObject({
      environment: 'test',
      server: { host: 'localhost', port: 8080 },
      database: { url: minimalEnvironment.DATABASE_URL },
      redis: { url: minimalEnvironment.REDIS_URL },
      chat: { initialUser: { password: 'first password' } },
    })
  })

  test('the PARLEY_ form wins over the usual one, also when only it is a file', async () => {
    const cwd = await folder({ port: '8082\n' })
    expect((await load({ env: { PORT: '8080', PARLEY_SERVER_PORT: '8081' } })).server.port).toBe(8081)
    expect((await load({ cwd, env: { PORT: '8080', PARLEY_SERVER_PORT_FILE: 'port' } })).server.port).toBe(8082)
  })

  test('an empty one counts as absent', async () => {
    expect((await load({ env: { PARLEY_LOG_LEVEL: '', PORT: '' } })).log.level).toBe('info')
  })

  test('booleans and lists are read from their texts', async () => {
    const env = {
      PARLEY_EMAIL_SECURE: 'true',
      PARLEY_RATE_LIMIT_ENABLED: '0',
      PARLEY_SERVER_TRUSTED_PROXIES: '10.0.0.0/8, ::1',
      PARLEY_SERVER_ALLOWED_ORIGINS: '[]',
    }
    expect(await load({ env })).toMatchObject({
      email: { secure: true },
      rateLimit: { enabled: false },
      server: { trustedProxies: ['10.0.0.0/8', '::1'], allowedOrigins: [] },
    })
  })

  test('several signing secrets are JSON; a comma belongs to the secret', async () => {
    const [first, second] = ['first,'.repeat(6), 'second'.repeat(6)]
    const loaded = async (PARLEY_AUTH_JWT_SECRET: string) =>
      (await load({ env: { PARLEY_AUTH_JWT_SECRET } })).auth.jwtSecret

    expect(await loaded(first)).toBe(first)
    expect(await loaded(JSON.stringify([first, second]))).toEqual([first, second])
  })
})

describe('_FILE', () => {
  test.each([
    ['secret-of-a-file\n', 'secret-of-a-file'],
    ['secret-of-a-file\r\n', 'secret-of-a-file'],
    [' secret \n\n', ' secret \n'],
  ])('%j: only one newline at the end is removed', async (content, password) => {
    const cwd = await folder({ secret: content })
    const { chat, email } = await load({
      cwd,
      env: { INITIAL_USER_PASSWORD_FILE: join(cwd, 'secret'), PARLEY_EMAIL_PASSWORD_FILE: 'secret' },
    })
    expect([chat.initialUser.password, email.password]).toEqual([password, password])
  })

  test('the variable itself wins, so that a launcher can set it over an inherited file', async () => {
    const env = { PARLEY_LOG_LEVEL: 'warn', PARLEY_LOG_LEVEL_FILE: '/nowhere' }
    expect((await load({ env })).log.level).toBe('warn')
  })

  test('unreadable or empty: a fault of its key', async () => {
    const cwd = await folder({ empty: '\n' })
    const env = { PARLEY_AUTH_JWT_SECRET: '', PARLEY_AUTH_JWT_SECRET_FILE: '/nowhere', PORT_FILE: 'empty' }
    expect(await faultsOf({ cwd, env })).toEqual([
      { key: 'server.port', message: 'PORT_FILE names an empty file' },
      { key: 'auth.jwtSecret', message: 'PARLEY_AUTH_JWT_SECRET_FILE names a file that cannot be read (ENOENT)' },
    ])
  })
})

describe('unknown PARLEY_ variables', () => {
  test('are faults, with the likely name', async () => {
    expect(await faultsOf({ env: { PARLEY_AUTH_AUTHMODE: 'dev', PARLEY_XYZ: '1' } })).toEqual([
      {
        key: 'PARLEY_AUTH_AUTHMODE',
        message: 'is not a variable of the configuration. Did you mean PARLEY_AUTH_AUTH_MODE?',
      },
      { key: 'PARLEY_XYZ', message: 'is not a variable of the configuration.' },
    ])
  })

  test('are accepted when Kubernetes sets them for a Service called parley', async () => {
    const env = {
      PARLEY_SERVICE_HOST: '10.0.0.1',
      PARLEY_SERVICE_PORT_HTTP: '80',
      PARLEY_PORT: 'tcp://10.0.0.1:80',
      PARLEY_PORT_80_TCP_ADDR: '10.0.0.1',
    }
    await expect(load({ env })).resolves.toBeDefined()
    expect(await faultsOf({ env: { PARLEY_PORT: '80' } })).toMatchObject([{ key: 'PARLEY_PORT' }])
  })
})

describe('children', () => {
  test('load the same configuration as their parent from configToEnvironment', async () => {
    const provider = { id: 'corp', name: 'A, B', clientId: 'c', clientSecret: 's', scopes: ['openid'] }
    const urls = { authorizationUrl: 'https://id/a', tokenUrl: 'https://id/t', userInfoUrl: 'https://id/u' }
    const parent = await load({
      argv: ['--server.reusePort', '--server.trustedProxies=10.0.0.0/8,::1', '--oauth.presets.gitlab.clientId=id'],
      env: {
        PARLEY_OAUTH_PRESETS_GITLAB_CLIENT_SECRET: 'secret',
        PARLEY_OAUTH_CUSTOM: JSON.stringify([{ ...provider, ...urls, redirectUri: 'https://chat/cb' }]),
        PARLEY_AUTH_JWT_SECRET: JSON.stringify(['first'.repeat(8), 'second'.repeat(8)]),
      },
    })

    expect(await load({ env: configToEnvironment(parent) })).toEqual(parent)
  })

  test('a single secret that looks like a list stays one', async () => {
    const jwtSecret = JSON.stringify(['x'.repeat(40)])
    expect((await load({ env: configToEnvironment({ auth: { jwtSecret } }) })).auth.jwtSecret).toEqual([jwtSecret])
  })

  test('functions stay behind', () => {
    expect(configToEnvironment({ auth: { authMode: 'dev', templates: { textVersion: () => '' } } })).toEqual({
      PARLEY_AUTH_AUTH_MODE: 'dev',
    })
  })

  test('childEnvironment overrides inherited variables', () => {
    const inherited = { PATH: '/bin', PARLEY_SERVER_PORT: '1', GONE: undefined }
    expect(childEnvironment({ server: { port: 2 } }, inherited)).toEqual({ PATH: '/bin', PARLEY_SERVER_PORT: '2' })
  })
})
