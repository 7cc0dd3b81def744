import { describe, expect, test } from 'vitest'
import { configToEnvironment } from './index.ts'
import { faultsOf, load, minimalEnvironment } from './load.testing.ts'

const keysOf = async (env: Record<string, string>, more = {}) =>
  (await faultsOf({ env, ...more })).map(({ key }) => key)
const password = { PARLEY_AUTH_AUTH_MODE: 'password', INITIAL_USER_PASSWORD: 'long enough' }

describe('values', () => {
  test.each([
    ['NODE_ENV', 'staging', 'environment', 'one of production, development, test (variable NODE_ENV)'],
    ['PORT', '65536', 'server.port', 'a whole number from 0 to 65535 (variable PORT)'],
    ['PORT', '1.5', 'server.port', 'a whole number from 0 to 65535 (variable PORT)'],
    ['PARLEY_AUTH_AUTH_MODE', 'none', 'auth.authMode', 'one of dev, magic-link, password'],
    [
      'PARLEY_AUTH_JWT_SECRET',
      'secret',
      'auth.jwtSecret',
      'a text of at least 32 characters, or a list of such texts (in a variable or flag as JSON)',
    ],
    ['PARLEY_AUTH_JWT_SECRET', '["secret"]', 'auth.jwtSecret', 'a text of at least 32 characters'],
    ['PARLEY_AUTH_JWT_SECRET', '[]', 'auth.jwtSecret', 'a text of at least 32 characters'],
    ['PARLEY_AUTH_JWT_SECRET', `["${'a'.repeat(40)}", "b]`, 'auth.jwtSecret', 'a text of at least 32 characters'],
    ['PARLEY_AUTH_APP_URL', 'ftp://chat', 'auth.appUrl', 'a URL that starts with http:// or https://'],
    [
      'PARLEY_AUTH_APP_URL',
      'https://chat.example.com/?from=mail',
      'auth.appUrl',
      'a URL that starts with http:// or https:// and has no query',
    ],
    [
      'PARLEY_AUTH_APP_URL',
      'https://chat.example.com/#/',
      'auth.appUrl',
      'a URL that starts with http:// or https:// and has no query',
    ],
    [
      'PARLEY_AUTH_TEMPLATES_TEXT_VERSION',
      'hi',
      'auth.templates.textVersion',
      'a function, in a .js, .mjs or .ts file',
    ],
    ['PARLEY_EMAIL_SECURE', 'yes', 'email.secure', 'true or false'],
    ['PARLEY_SERVER_ALLOWED_ORIGINS', 'https://a/', 'server.allowedOrigins', 'a list of origins'],
    ['PARLEY_SERVER_TRUSTED_PROXIES', '10.0.0.0/33', 'server.trustedProxies', 'a list of IP addresses'],
    ['PARLEY_SERVER_TRUSTED_PROXIES', 'proxy', 'server.trustedProxies', 'a list of IP addresses'],
    ['PARLEY_GATEWAY_UPSTREAMS_AUTH', 'auth:80', 'gateway.upstreams.auth', 'a list of http:// or https:// URLs'],
    ['PARLEY_OAUTH_CUSTOM', '[{', 'oauth.custom', 'a list of providers'],
    ['DATABASE_URL', 'mysql://localhost', 'database.url', 'a URL that starts with postgresql:// or postgres://'],
    ['DATABASE_URL', 'postgres://a,,b/parley', 'database.url', 'a URL that starts with postgresql:// or postgres://'],
    ['REDIS_URL', 'localhost:6379', 'redis.url', 'a URL that starts with redis:// or rediss://'],
    ['INITIAL_USER_PASSWORD', 'short', 'chat.initialUser.password', 'a text of at least 8 characters'],
    ['PARLEY_CHAT_INITIAL_USER_EMAIL', 'admin', 'chat.initialUser.email', 'an e-mail address'],
  ])('%s=%s is one fault', async (variable, value, key, words) => {
    const faults = await faultsOf({ env: { [variable]: value } })
    expect(faults).toEqual([{ key, message: expect.stringContaining(`must be ${words}`) }])
  })

  test('in a file: numbers are numbers, nothing is null', async () => {
    const defaults = { server: { port: '3000' }, log: { level: null } } as object
    expect(await faultsOf({ defaults })).toMatchObject([{ key: 'log.level' }, { key: 'server.port' }])
  })

  test('required settings are named with their variables', async () => {
    const env = Object.fromEntries(Object.keys(minimalEnvironment).map((name) => [name, '']))
    expect(await faultsOf({ env })).toMatchObject([
      { key: 'auth.jwtSecret', message: expect.stringContaining('set PARLEY_AUTH_JWT_SECRET') },
      { key: 'database.url', message: expect.stringContaining('set DATABASE_URL (or DATABASE_URL_FILE)') },
      { key: 'redis.url', message: expect.stringContaining('set REDIS_URL') },
    ])
  })
})

describe('sign-in', () => {
  const generated = { auth: { jwtSecret: 'made up by a launcher for this machine' } }
  const none = { PARLEY_AUTH_JWT_SECRET: '' }

  test("a launcher's signing secret is good enough for a developer, not for production", async () => {
    await expect(load({ env: none, defaults: generated })).resolves.toMatchObject(generated)
    const production = { ...none, ...password, NODE_ENV: 'production' }
    expect(await keysOf(production, { defaults: generated })).toEqual(['auth.jwtSecret'])
    await expect(load({ env: { ...production, ...configToEnvironment(generated) } })).resolves.toMatchObject(generated)
  })

  test('dev mode in production', async () => {
    expect(await keysOf({ NODE_ENV: 'production' })).toEqual(['auth.authMode'])
    await load({ env: { NODE_ENV: 'production', PARLEY_AUTH_ALLOW_PUBLIC_DEV_MODE: 'true' } })
    await load({ env: { NODE_ENV: 'production', ...password } })
  })

  test('dev mode on a public address', async () => {
    for (const HOST of ['0.0.0.0', '::', '192.168.1.5', 'chat.example.com']) {
      expect(await keysOf({ HOST })).toEqual(['server.host'])
    }
    await load({ env: { HOST: '0.0.0.0', PARLEY_AUTH_ALLOW_PUBLIC_DEV_MODE: 'true' } })
    await load({ env: { HOST: '0.0.0.0', ...password } })
  })

  test('magic links need e-mail', async () => {
    const env = { PARLEY_AUTH_AUTH_MODE: 'magic-link' }
    expect(await keysOf(env)).toEqual(['email.host'])
    await load({ env: { ...env, PARLEY_EMAIL_HOST: 'smtp.example.com' } })
  })

  test('passwords need no first password, because only the database shows whether one exists', async () => {
    await load({ env: { PARLEY_AUTH_AUTH_MODE: 'password' } })
    await load({ env: password })
  })
})

describe('PostgreSQL', () => {
  const faults = (search: string, more: Record<string, string> = {}) =>
    keysOf({ DATABASE_URL: `postgres://ann:secret@db1:5433,db2,[::1]:5434/parley${search}`, ...more })
  const PARLEY_DATABASE_TLS_CA = '-----BEGIN CERTIFICATE-----'

  test('several hosts are one URL', async () => {
    const DATABASE_URL = 'postgres://ann:secret@db1:5433,db2,[::1]:5434/parley?sslmode=verify-full'
    expect((await load({ env: { DATABASE_URL, PARLEY_DATABASE_TLS_CA } })).database).toMatchObject({
      url: DATABASE_URL,
      tls: { ca: PARLEY_DATABASE_TLS_CA },
    })
  })

  test('the TLS settings must be consistent', async () => {
    expect(await faults('?sslmode=prefer')).toEqual(['database.url'])
    expect(await faults('?sslmode=verify-ca')).toEqual(['database.url'])
    expect(await faults('?sslmode=verify-ca&sslrootcert=system')).toEqual(['database.url'])
    expect(await faults('?sslmode=disable', { PARLEY_DATABASE_TLS_CA })).toEqual(['database.tls.ca'])
    expect(await faults('?sslrootcert=/ca.crt', { PARLEY_DATABASE_TLS_CA })).toEqual(['database.tls.ca'])
    for (const mode of ['require', 'verify-ca', 'verify-full']) {
      await load({ env: { DATABASE_URL: `postgres://db/parley?sslmode=${mode}`, PARLEY_DATABASE_TLS_CA } })
    }
  })

  test('target_session_attrs cannot require a read-only server', async () => {
    expect(await faults('?target_session_attrs=any')).toEqual(['database.url'])
    await load({ env: { DATABASE_URL: 'postgres://db1,db2/parley?target_session_attrs=read-write' } })
  })
})

describe('OAuth', () => {
  const provider = {
    id: 'corp',
    name: 'Corp',
    authorizationUrl: 'https://id.example/authorize',
    tokenUrl: 'https://id.example/token',
    userInfoUrl: 'https://id.example/me',
    clientId: 'client',
    clientSecret: 'client-secret',
  }
  const custom = (...providers: unknown[]) => ({ PARLEY_OAUTH_CUSTOM: JSON.stringify(providers) })

  test.each(Object.keys(provider))('a custom provider without %s', async (field) => {
    const env = custom(provider, { ...provider, id: 'other', [field]: undefined })
    expect(await keysOf(env)).toEqual([`oauth.custom[1].${field}`])
  })

  test('a custom provider with an unknown field', async () => {
    expect(await faultsOf({ env: custom({ ...provider, tokenURL: 'https://id.example', id: 'a/b' }, 'corp') })).toEqual(
      [
        {
          key: 'oauth.custom[0].tokenURL',
          message: 'is not a configuration key (variable PARLEY_OAUTH_CUSTOM). Did you mean tokenUrl?',
        },
        { key: 'oauth.custom[0].id', message: expect.stringContaining('must be letters, digits') },
        { key: 'oauth.custom[1]', message: 'must be an object (variable PARLEY_OAUTH_CUSTOM)' },
      ],
    )
  })

  test.each(['authorizationUrl', 'tokenUrl', 'userInfoUrl', 'redirectUri'])(
    '%s is https but on loopback',
    async (field) => {
      expect(await keysOf(custom({ ...provider, [field]: 'http://id.example/' }))).toEqual([`oauth.custom[0].${field}`])
      await load({ env: custom({ ...provider, [field]: 'http://[::1]:9000/' }) })
    },
  )

  test('two providers with the same id are refused', async () => {
    expect(await keysOf(custom(provider, provider))).toEqual(['oauth.custom[1].id'])
  })

  test('a custom provider is refused whose address would be that of the list', async () => {
    expect(await keysOf(custom({ ...provider, id: 'providers' }))).toEqual(['oauth.custom[0].id'])
  })

  test('a preset is whole, and its callback https', async () => {
    const [id, secret] = ['PARLEY_OAUTH_PRESETS_GITHUB_CLIENT_ID', 'PARLEY_OAUTH_PRESETS_GITHUB_CLIENT_SECRET']
    expect(await keysOf({ [id]: 'id' })).toEqual(['oauth.presets.github.clientSecret'])
    expect(await keysOf({ [id]: 'id', [secret]: 's', PARLEY_AUTH_APP_URL: 'http://chat.example' })).toEqual([
      'oauth.presets.github.redirectUri',
    ])
  })
})

describe('Redis', () => {
  const none = { REDIS_URL: '' }
  const sentinels = { ...none, PARLEY_REDIS_SENTINELS: 'a:26379,[::1]:26379', PARLEY_REDIS_SENTINEL_NAME: 'chat' }
  const cluster = { ...none, PARLEY_REDIS_CLUSTER_NODES: 'a:6379, b:6379' }

  test('one Redis, Sentinels or a cluster', async () => {
    const { redis } = await load({ env: sentinels })
    expect(redis).toMatchObject({ sentinels: ['a:26379', '[::1]:26379'], sentinelName: 'chat', keyPrefix: 'parley:' })
    expect((await load({ env: cluster })).redis).toMatchObject({ clusterNodes: ['a:6379', 'b:6379'] })
    // The environment that a launcher passes to its processes gives the same configuration.
    const handedOn = { ...none, ...configToEnvironment({ redis }) }
    expect((await load({ env: handedOn })).redis).toEqual(redis)
    const secure = { ...cluster, PARLEY_REDIS_TLS_ENABLED: 'true', PARLEY_REDIS_TLS_CA: 'PEM' }
    expect((await load({ env: secure })).redis.tls).toEqual({ enabled: true, ca: 'PEM' })
    await load({ env: { REDIS_URL: 'rediss://cache', PARLEY_REDIS_TLS_CA: 'PEM', PARLEY_REDIS_PASSWORD: 'secret' } })
  })

  test("a launcher's own Redis is replaced", async () => {
    const defaults = { redis: { url: 'redis://embedded' } }
    await load({ env: sentinels, defaults })
    await load({ env: cluster, defaults })
  })

  test.each<[string, Record<string, string>, string[]]>([
    ['Sentinels without the name', { ...sentinels, PARLEY_REDIS_SENTINEL_NAME: '' }, ['redis.sentinelName']],
    ['the name without Sentinels', { PARLEY_REDIS_SENTINEL_NAME: 'chat' }, ['redis.sentinelName']],
    ['a password of Sentinels without them', { PARLEY_REDIS_SENTINEL_PASSWORD: 'x' }, ['redis.sentinelPassword']],
    ['a URL beside Sentinels', { ...sentinels, REDIS_URL: minimalEnvironment.REDIS_URL }, ['redis.url']],
    ['a URL beside a cluster', { ...cluster, REDIS_URL: minimalEnvironment.REDIS_URL }, ['redis.url']],
    ['a cluster with Sentinels', { ...sentinels, ...cluster }, ['redis.clusterNodes']],
    ['an address without a port', { ...none, PARLEY_REDIS_CLUSTER_NODES: 'a' }, ['redis.clusterNodes']],
    ['a port there is not', { ...none, PARLEY_REDIS_CLUSTER_NODES: 'a:65536' }, ['redis.clusterNodes']],
    ['a name without a password', { ...cluster, PARLEY_REDIS_USERNAME: 'chat' }, ['redis.password']],
    ['TLS that the URL denies', { PARLEY_REDIS_TLS_ENABLED: 'true' }, ['redis.tls.enabled']],
    ['an authority without TLS', { ...cluster, PARLEY_REDIS_TLS_CA: 'PEM' }, ['redis.tls.ca']],
    ['a prefix that moves names to one slot', { PARLEY_REDIS_KEY_PREFIX: '{a}' }, ['redis.keyPrefix']],
  ])('refuses %s', async (_what, env, keys) => {
    expect(await keysOf(env)).toEqual(keys)
  })
})

test('the S3 store needs a bucket and a whole key', async () => {
  const env = { PARLEY_STORAGE_STORE: 's3', PARLEY_STORAGE_S3_ACCESS_KEY_ID: 'key' }
  expect(await keysOf(env)).toEqual(['storage.s3.bucket', 'storage.s3.secretAccessKey'])
  await load({ env: { ...env, PARLEY_STORAGE_S3_BUCKET: 'files', PARLEY_STORAGE_S3_SECRET_ACCESS_KEY: 'secret' } })
})
