import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { Ajv } from 'ajv'
import composeverter from 'composeverter'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { composition, keyPairs, text, withoutProfile } from './composition.ts'
import { configurationFrom } from './environment.ts'
import { root } from './rendered.ts'

const made = mkdtempSync(path.join(tmpdir(), 'parley-secrets-'))
beforeAll(() => promisify(execFile)(process.execPath, ['deploy/image/setup.ts', '--directory', made], { cwd: root }))
afterAll(() => rmSync(made, { recursive: true }))

/** The services that use PostgreSQL and Redis. */
const inside = ['auth', 'directory', 'messaging', 'realtime', 'admin', 'integrations', 'worker']
const services = ['gateway', ...inside, 'web']

test('the file is as the specification has it, and a misspelt field is found', () => {
  const validate = compileSpecification()
  expect([validate(composition), validate.errors]).toEqual([true, null])

  const spoiled = structuredClone(composition)
  Object.assign(spoiled.services.auth!, { enviroment: {} })
  expect(validate(spoiled)).toBe(false)
  expect(JSON.stringify(validate.errors)).toContain('enviroment')
})

test('without a profile: what a server needs, each process once, of one image that starts its service', () => {
  const expected = [...services, 'setup', 'migrate', 'postgres', 'redis']
  expect(withoutProfile.toSorted()).toEqual(expected.sort())
  const programs = new Map([...services, 'setup'].map((name) => [name, name])).set('migrate', 'parley')
  for (const [name, program] of programs) {
    const { image, command, read_only, cap_drop } = composition.services[name]!
    expect([image, command![0], read_only, cap_drop]).toEqual(['parley:local', program, true, ['ALL']])
  }
  const { image, read_only, cap_drop, volumes } = composition.services.parley!
  expect({ image, read_only, cap_drop, volumes }).toEqual({
    image: 'parley:local',
    read_only: true,
    cap_drop: ['ALL'],
    volumes: ['secrets-migrate:/run/secrets:ro'],
  })
  expect(composition.services.postgres!.image).toMatch(/^postgres:18/)
  expect(composition.services.redis!.image).toMatch(/^redis:8/)
  const redis = composition.services.redis!.command!.join(' ')
  expect(redis).toMatch(/--appendonly yes --maxmemory 512mb --maxmemory-policy noeviction$/)
})

test('every container is confined: a read-only root, no capabilities, bounded memory, logs that rotate', () => {
  for (const [name, service] of Object.entries(composition.services)) {
    expect(service, name).toMatchObject({
      read_only: true,
      tmpfs: expect.arrayContaining(['/tmp']),
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      mem_limit: expect.stringMatching(/^\d+[mg]$/),
      logging: { driver: 'local', options: { 'max-size': '20m', 'max-file': '5' } },
    })
    expect(service.cap_add, name).toBeUndefined()
  }
  const roomOfRedis = Number.parseInt(String(composition.services.redis!.mem_limit), 10) * 1024
  expect(roomOfRedis).toBeGreaterThanOrEqual(2 * 512)
})

test('images are of an exact version, and each can be given by its digest instead', () => {
  for (const [name, { image }] of Object.entries(composition.services)) {
    expect(image, name).toMatch(/^(parley:local|[\w./-]+:v?\d+(\.\d+)+)$/)
    if (!image.startsWith('parley:')) expect(text, name).toContain(`\${${name.toUpperCase()}_IMAGE:-${image}}`)
  }
})

test('networks: only the services that need PostgreSQL and Redis reach them, and these two reach nothing outside', () => {
  const reaching = (network: string) =>
    Object.entries(composition.services)
      .filter(([, { networks = [] }]) => networks.includes(network))
      .map(([name]) => name)
      .sort()
  expect(reaching('public')).toEqual(['gateway'])
  expect(reaching('database')).toEqual([...inside, 'migrate', 'parley', 'postgres'].sort())
  expect(reaching('redis')).toEqual(['gateway', ...inside, 'redis'].sort())
  expect(reaching('services')).toEqual(
    [...services, 'alertmanager', 'collector', 'migrate', 'parley', 'prometheus'].sort(),
  )
  expect(reaching('mail')).toEqual(['mailpit', 'worker'])
  expect(composition.networks).toMatchObject({ database: { internal: true }, redis: { internal: true } })
  for (const [name, { networks, network_mode }] of Object.entries(composition.services)) {
    if (name === 'setup') expect([networks, network_mode]).toEqual([undefined, 'none'])
    for (const network of networks ?? []) expect(composition.networks, name).toHaveProperty(network)
  }
})

test('the order: secrets, PostgreSQL and Redis, migrations, services, gateway', () => {
  const waits = (name: string) =>
    Object.fromEntries(
      Object.entries(composition.services[name]!.depends_on ?? {}).map(([on, { condition }]) => [on, condition]),
    )
  const done = 'service_completed_successfully'
  const healthy = 'service_healthy'
  expect([waits('setup'), waits('postgres'), waits('redis')]).toEqual([{}, { setup: done }, { setup: done }])
  expect(waits('migrate')).toEqual({ setup: done, postgres: healthy })
  for (const name of inside) expect(waits(name)).toEqual({ migrate: done, redis: healthy })
  expect(waits('web')).toEqual({})
  expect(waits('gateway')).toEqual(Object.fromEntries([...inside, 'web'].map((name) => [name, healthy])))
})

test('each reader of secrets has a folder of its own, which only the set-up may write', () => {
  const readers = ['gateway', ...inside, 'migrate', 'postgres', 'redis']
  for (const name of readers) {
    const mounted = composition.services[name]!.volumes!.filter((volume) => volume.startsWith('secrets-'))
    expect(mounted).toEqual([`secrets-${name}:/run/secrets:ro`])
  }
  const written = [...readers.map((name) => `secrets-${name}:/secrets/${name}`), 'first-start:/secrets/first-start']
  expect(composition.services.setup!.volumes!.toSorted()).toEqual(written.sort())
  const readersOfFirst = Object.entries(composition.services).filter(([, { volumes = [] }]) =>
    volumes.includes('first-start:/run/first-start'),
  )
  expect(readersOfFirst.map(([name]) => name)).toEqual(['migrate'])
  expect(composition.services.setup!.network_mode).toBe('none')
  expect(composition.services.web!.volumes).toBeUndefined()
  for (const volume of Object.values(composition.services).flatMap(({ volumes = [] }) => volumes)) {
    const [source] = volume.split(':')
    expect(
      source!.startsWith('./') ? existsSync(path.join(root, source!)) : source! in composition.volumes,
      volume,
    ).toBe(true)
  }
})

test('with key pairs only auth has the private keys, and services that check tokens have the public ones', () => {
  const validate = compileSpecification()
  expect([validate(keyPairs), validate.errors]).toEqual([true, null])
  const checking = Object.entries(composition.services).filter(
    ([name, { environment }]) => name !== 'auth' && environment?.PARLEY_AUTH_JWT_SECRET_FILE !== undefined,
  )
  expect(Object.keys(keyPairs.services).sort()).toEqual(['auth', ...checking.map(([name]) => name)].sort())
  for (const [name, service] of Object.entries(keyPairs.services)) {
    const [kind, setting, file] =
      name === 'auth'
        ? ['private', 'PARLEY_AUTH_JWT_KEYS', 'jwt-1.pem']
        : ['public', 'PARLEY_AUTH_JWT_PUBLIC_KEYS', 'jwt-1.public.pem']
    expect([name, service]).toEqual([
      name,
      { environment: { [setting!]: `/run/jwt-keys/${file}` }, volumes: [`./jwt-keys/${kind}:/run/jwt-keys:ro`] },
    ])
  }
})

test('the set-up gives each process the secrets that it needs and no others', () => {
  const filesOf = (name: string) => readdirSync(path.join(made, name)).sort()
  const ofService = ['database-url', 'jwt-secret', 'redis-url']
  for (const name of ['auth', 'directory', 'messaging', 'admin', 'integrations', 'realtime'])
    expect(filesOf(name)).toEqual(ofService)
  expect(filesOf('gateway')).toEqual(['jwt-secret', 'redis-url'])
  expect(filesOf('worker')).toEqual(['database-url', 'redis-url'])
  expect(filesOf('migrate').filter((file) => !file.startsWith('database-password-'))).toEqual(['database-url'])
  expect(filesOf('first-start')).toEqual(['initial-user-password'])
})

test('a later set-up gives a service that is new its secrets, and changes no others', async () => {
  const textOf = (...names: string[]) => readFileSync(path.join(made, ...names), 'utf8')
  const before = [textOf('admin', 'database-url'), textOf('integrations', 'jwt-secret')]
  for (const folder of ['integrations', 'migrate']) {
    for (const file of readdirSync(path.join(made, folder)))
      if (folder === 'integrations' || file.endsWith('-integrations')) rmSync(path.join(made, folder, file))
  }
  await promisify(execFile)(process.execPath, ['deploy/image/setup.ts', '--directory', made], { cwd: root })
  expect([textOf('admin', 'database-url'), textOf('integrations', 'jwt-secret')]).toEqual(before)
  const password = textOf('migrate', 'database-password-integrations')
  expect(textOf('integrations', 'database-url')).toBe(
    textOf('admin', 'database-url').replace(/parley_admin:[^@]+/, `parley_integrations:${password}`),
  )
})

test('every environment is a configuration that the code accepts', async () => {
  for (const name of [...services, 'migrate']) {
    const { environment = {}, stop_grace_period } = composition.services[name]!
    const config = await configurationFrom(name, environment, name === 'web' ? [] : readdirSync(path.join(made, name)))
    expect([config.environment, config.auth.authMode, config.server.port]).toEqual(['production', 'password', 3000])
    expect(config.events.drainSeconds).toBeLessThanOrEqual(config.server.shutdownSeconds / 2)
    if (name === 'migrate') continue
    expect(Number.parseInt(stop_grace_period as string, 10)).toBeGreaterThan(config.server.shutdownSeconds)
    if (name !== 'gateway') continue
    for (const [service, urls] of Object.entries(config.gateway.upstreams))
      expect(urls).toEqual([`http://${service}:3000`])
  }
})

/** The library writes regular expressions with JavaScript's slashes around them, which are removed here. */
function compileSpecification() {
  const schema = JSON.stringify(composeverter.getDockerComposeSchemaWithoutFormats())
  const withPatterns = JSON.parse(schema, (key, value) =>
    key === 'pattern' && /^\/.*\/$/.test(value) ? value.slice(1, -1) : value,
  )
  return new Ajv({ strict: false }).compile(withPatterns)
}
