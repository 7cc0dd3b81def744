import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from './index.ts'
import { faultsOf, folder, load, loadError, minimalEnvironment } from './load.testing.ts'

describe('precedence', () => {
  const defaults = { server: { port: 1001 } }
  const env = { PARLEY_SERVER_PORT: '1003' }
  const argv = ['--server.port=1004']
  const withFile = () => folder({ 'parley.config.json': '{"server": {"port": 1002, "host": "localhost"}}' })

  test('the built-in default, without any other source', async () => {
    expect((await load()).server.port).toBe(3000)
  })
  test("a launcher's default over the built-in one", async () => {
    expect((await load({ defaults })).server.port).toBe(1001)
  })
  test('the file over a launcher', async () => {
    expect((await load({ defaults, cwd: await withFile() })).server.port).toBe(1002)
  })
  test('a variable over the file', async () => {
    expect((await load({ defaults, cwd: await withFile(), env })).server.port).toBe(1003)
  })
  test('a flag over all', async () => {
    expect((await load({ defaults, cwd: await withFile(), env, argv })).server.port).toBe(1004)
  })
  test('key by key: other keys keep their own source', async () => {
    expect((await load({ cwd: await withFile(), argv })).server).toMatchObject({ port: 1004, host: 'localhost' })
  })
})

describe('defaults', () => {
  test("the interface's figures", async () => {
    const { auth, environment, rateLimit, events } = await load()

    expect(environment).toBe('development')
    expect(auth).toMatchObject({
      isInviteRequired: true,
      magicLinkExpirySeconds: 900,
      jwtExpirySeconds: 900,
      refreshTokenExpirySeconds: 604_800,
      maxActiveSessions: 3,
      allowPublicDevMode: false,
    })
    expect(rateLimit).toEqual({ enabled: true, perMinute: 600, perMinuteAnonymous: 120 })
    expect(events).toMatchObject({ replaySeconds: 3600, keepAliveSeconds: 25, maxStreamsPerUser: 100 })
  })

  test('the data folder is found from the working directory', async () => {
    const cwd = await folder()
    expect((await load({ cwd })).dataDir).toBe(join(cwd, '.data'))
    expect((await load({ cwd, env: { PARLEY_DATA_DIR: '/srv/parley' } })).dataDir).toBe('/srv/parley')
  })
})

describe('unused keys', () => {
  const unused = ['auth.jwtSecret', 'database', 'redis']

  test('need not be set, in production neither', async () => {
    const env = { NODE_ENV: 'production', PARLEY_AUTH_AUTH_MODE: 'password' }
    const config = await loadConfig({ argv: [], cwd: await folder(), env, unused })
    expect(config.database.url).toBe('postgres://unused.invalid/none')
    expect(config.redis.url).toBe('redis://unused.invalid')
  })
  test('are not read, whatever their values are', async () => {
    const cwd = await folder({
      'parley.config.json': '{"redis": {"sentinelName": "parley"}, "database": {"poolSize": 0}}',
    })
    const env = {
      PARLEY_REDIS_PASSWORD_FILE: '/missing',
      REDIS_URL: 'http://redis',
      PARLEY_REDIS_CLUSTER_NODES: 'redis:6379',
    }
    const { redis, database } = await load({ cwd, env, argv: ['--redis.username=parley'], unused })
    expect(redis).toEqual({ url: 'redis://unused.invalid', keyPrefix: 'parley:', tls: { enabled: false } })
    expect(database.poolSize).toBe(10)
  })
  test('other keys are still checked', async () => {
    expect(await faultsOf({ env: { PARLEY_DATABASE_URLS: 'x', PORT: 'x' }, unused })).toMatchObject([
      { key: 'PARLEY_DATABASE_URLS' },
      { key: 'server.port' },
    ])
  })
})

describe('derived keys', () => {
  test.each([
    [{}, 'http://127.0.0.1:3000'],
    [{ PORT: '8080' }, 'http://127.0.0.1:8080'],
    [{ HOST: '::1' }, 'http://[::1]:3000'],
    [{ HOST: '0.0.0.0', PARLEY_AUTH_ALLOW_PUBLIC_DEV_MODE: 'true' }, 'http://localhost:3000'],
    [{ PARLEY_AUTH_APP_URL: 'https://chat.example.com/' }, 'https://chat.example.com'],
  ])('%o is reached at %s', async (env, appUrl) => {
    expect((await load({ env })).auth.appUrl).toBe(appUrl)
  })

  test.each([
    [{}, true],
    [{ PARLEY_DATABASE_POOLER: 'transaction' }, false],
    [{ PARLEY_DATABASE_POOLER: 'transaction', PARLEY_DATABASE_PREPARED_STATEMENTS: 'true' }, true],
  ])('with %o statements are prepared by name: %s', async (env, isPrepared) => {
    expect((await load({ env })).database.preparedStatements).toBe(isPrepared)
  })

  test("CORS allows the application's origin unless origins are named", async () => {
    const PARLEY_AUTH_APP_URL = 'https://example.com/chat'
    const named = { PARLEY_AUTH_APP_URL, PARLEY_SERVER_ALLOWED_ORIGINS: 'https://a.example, https://b.example' }

    expect((await load({ env: { PARLEY_AUTH_APP_URL } })).server.allowedOrigins).toEqual(['https://example.com'])
    expect((await load({ env: named })).server.allowedOrigins).toEqual(['https://a.example', 'https://b.example'])
  })

  test('OAuth callbacks follow the application, scopes may be a text', async () => {
    const custom = { id: 'corp', name: 'Corp', clientId: 'c', clientSecret: 's', scopes: 'openid groups' }
    const urls = { authorizationUrl: 'https://id/a', tokenUrl: 'https://id/t', userInfoUrl: 'http://127.0.0.1:9/u' }
    const { oauth } = await load({
      env: {
        PARLEY_AUTH_APP_URL: 'https://chat.example.com',
        PARLEY_OAUTH_PRESETS_GOOGLE_CLIENT_ID: 'id',
        PARLEY_OAUTH_PRESETS_GOOGLE_CLIENT_SECRET: 'secret',
        PARLEY_OAUTH_CUSTOM: JSON.stringify([{ ...custom, ...urls }]),
      },
    })

    const redirectUri = 'https://chat.example.com/auth/oauth/google/callback'
    expect(oauth.presets).toEqual({ google: { clientId: 'id', clientSecret: 'secret', redirectUri } })
    expect(oauth.custom[0]).toMatchObject({
      scopes: ['openid', 'groups'],
      redirectUri: 'https://chat.example.com/auth/oauth/corp/callback',
    })
  })
})

test('streams end before half of the time to stop is over, when all connections are closed', async () => {
  const { events, server } = await load()
  expect(events.drainSeconds).toBeLessThanOrEqual(server.shutdownSeconds / 2)
})

test('the loaded configuration is deeply frozen', async () => {
  const trustedProxies = ['10.0.0.0/8']
  const config = await load({ defaults: { server: { trustedProxies } } })

  expect(() => Object.assign(config.server, { port: 1 })).toThrow(TypeError)
  expect(() => (config.server.trustedProxies as string[]).push('::1')).toThrow(TypeError)
  expect(trustedProxies.push('::1')).toBe(2)
})

test('every source is read to the end: all faults at once, a line each, and no value in them', async () => {
  const error = await loadError({
    argv: [
      '--auth.authMod=hunter2',
      '--log.level=hunter3',
      '--initialUserPasword',
      'hunter4',
      '--auth.jwtSecret=hunter5',
    ],
    env: {
      NODE_ENV: 'production',
      PORT: 'hunter6',
      PARLEY_EMAIL_PASWORD: 'hunter7',
      DATABASE_URL: 'mysql://parley:hunter8@localhost',
      REDIS_URL_FILE: '/nowhere/hunter9',
      REDIS_URL: '',
    },
    cwd: await folder({ 'parley.config.json': '{"storage": {"s3": {"secretKey": "hunter10"}}, "oauth": "hunter11"}' }),
  })

  expect(error.faults.map(({ key }) => key).sort()).toEqual([
    '--auth.authMod',
    '--initialUserPasword',
    'PARLEY_EMAIL_PASWORD',
    'auth.authMode',
    'auth.jwtSecret',
    'database.url',
    'log.level',
    'oauth',
    'redis.url',
    'server.port',
    'storage.s3.secretKey',
  ])
  expect(error.message.split('\n')).toHaveLength(1 + error.faults.length)
  expect(error.message).toMatch(
    /^The configuration has 11 faults:\n {2}--auth\.authMod: is not a flag\. Did you mean --auth\.authMode\?$/m,
  )
  expect(`${error.stack}${JSON.stringify(error)}`).not.toMatch(/hunter\d/)
})

test('valid secrets do not appear in the message of a fault', async () => {
  const { stack, faults } = await loadError({ env: { PORT: 'x', INITIAL_USER_PASSWORD: 'initial-secret' } })

  expect(faults).toHaveLength(1)
  for (const secret of [
    minimalEnvironment.PARLEY_AUTH_JWT_SECRET,
    'database-secret',
    'redis-secret',
    'initial-secret',
  ]) {
    expect(stack).not.toContain(secret)
  }
})
