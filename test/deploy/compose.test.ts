import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { loadConfig } from '@parley/config'
import { Ajv } from 'ajv'
import composeverter from 'composeverter'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { imageEnvironment } from './dockerfile.ts'
import { root } from './rendered.ts'

interface Service {
  image: string
  command?: string[]
  environment?: Record<string, string>
  volumes?: string[]
  depends_on?: Record<string, { condition: string }>
  profiles?: string[]
  [field: string]: unknown
}

const services = ['gateway', 'auth', 'directory', 'messaging', 'realtime', 'admin', 'worker']
const compose = read() as { services: Record<string, Service>; volumes: Record<string, null> }

test('the file is as the specification has it, and a misspelt field is found', () => {
  const validate = compileSpecification()
  expect([validate(compose), validate.errors]).toEqual([true, null])

  const spoiled = structuredClone(compose)
  Object.assign(spoiled.services.auth!, { enviroment: {} })
  expect(validate(spoiled)).toBe(false)
  expect(JSON.stringify(validate.errors)).toContain('enviroment')
})

test('without a profile: what a server needs, each process once, of one image that starts its service', () => {
  const started = Object.entries(compose.services).filter(([, { profiles }]) => !profiles)
  const expected = [...services, 'setup', 'migrate', 'postgres', 'redis']
  expect(started.map(([name]) => name).sort()).toEqual(expected.sort())
  expect(compose.services.migrate!.command).toEqual(['migrate', '--passwords', '/run/secrets'])
  for (const name of [...services, 'migrate', 'setup']) {
    const { image, command, read_only, cap_drop } = compose.services[name]!
    expect([image, command![0], read_only, cap_drop]).toEqual(['parley:local', name, true, ['ALL']])
  }
  expect(compose.services.postgres!.image).toMatch(/^postgres:18/)
  expect(compose.services.redis!.image).toMatch(/^redis:8/)
  expect(compose.services.redis!.command!.join(' ')).toMatch(/--appendonly yes --maxmemory-policy noeviction$/)
  for (const { image } of Object.values(compose.services)) expect(image).toMatch(/:(?!latest$).+/)
})

test('the order: secrets, PostgreSQL and Redis, migrations, services, gateway', () => {
  const waits = (name: string) =>
    Object.fromEntries(
      Object.entries(compose.services[name]!.depends_on ?? {}).map(([on, { condition }]) => [on, condition]),
    )
  const done = 'service_completed_successfully'
  const healthy = 'service_healthy'
  expect([waits('setup'), waits('postgres'), waits('redis')]).toEqual([{}, { setup: done }, { setup: done }])
  expect(waits('migrate')).toEqual({ setup: done, postgres: healthy })
  const [, ...inside] = services
  for (const name of inside) expect(waits(name)).toEqual({ migrate: done, redis: healthy })
  expect(waits('gateway')).toEqual(Object.fromEntries(inside.map((name) => [name, healthy])))
})

test('each reader of secrets has a folder of its own, which only the set-up may write', () => {
  const readers = [...services, 'migrate', 'postgres', 'redis']
  for (const name of readers) {
    const mounted = compose.services[name]!.volumes!.filter((volume) => volume.startsWith('secrets-'))
    expect(mounted).toEqual([`secrets-${name}:/run/secrets:ro`])
  }
  const written = readers.map((name) => `secrets-${name}:/secrets/${name}`)
  expect(compose.services.setup!.volumes!.toSorted()).toEqual(written.sort())
  expect(compose.services.setup!.network_mode).toBe('none')
  for (const volume of Object.values(compose.services).flatMap(({ volumes = [] }) => volumes)) {
    const [source] = volume.split(':')
    expect(source!.startsWith('./') ? existsSync(path.join(root, source!)) : source! in compose.volumes, volume).toBe(
      true,
    )
  }
})

test('every environment is a configuration that the code accepts', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'parley-environment-'))
  const secrets: Record<string, string> = {
    'jwt-secret': 'a secret of at least 32 characters',
    'redis-url': 'redis://:secret@redis:6379',
    'initial-user-password': 'long enough',
    'database-url': 'postgres://parley:secret@postgres:5432/parley',
  }
  for (const [file, text] of Object.entries(secrets)) await writeFile(path.join(directory, file), text)

  for (const name of [...services, 'migrate']) {
    const { environment = {}, stop_grace_period } = compose.services[name]!
    const env = Object.fromEntries(
      Object.entries({ ...imageEnvironment(), ...environment }).map(([key, value]) => [
        key,
        value.replace(/^\/run\/secrets/, directory),
      ]),
    )
    const config = await loadConfig({ argv: [], env, cwd: directory })
    expect([config.environment, config.auth.authMode, config.server.port]).toEqual(['production', 'password', 3000])
    expect(config.events.drainSeconds).toBeLessThanOrEqual(config.server.shutdownSeconds / 2)
    if (name === 'migrate') continue
    expect(Number.parseInt(stop_grace_period as string, 10)).toBeGreaterThan(config.server.shutdownSeconds)
    if (name !== 'gateway') continue
    for (const [service, urls] of Object.entries(config.gateway.upstreams))
      expect(urls).toEqual([`http://${service}:3000`])
  }
})

/** The file as compose reads it where nothing is set: variables are their defaults, anchors are merged. */
function read(): unknown {
  const text = readFileSync(path.join(root, 'docker-compose.yml'), 'utf8')
  return parse(text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1').replaceAll('$$', '$'), { merge: true })
}

/** The library writes regular expressions with the slashes of JavaScript around them. */
function compileSpecification() {
  const schema = JSON.stringify(composeverter.getDockerComposeSchemaWithoutFormats())
  const withPatterns = JSON.parse(schema, (key, value) =>
    key === 'pattern' && /^\/.*\/$/.test(value) ? value.slice(1, -1) : value,
  )
  return new Ajv({ strict: false }).compile(withPatterns)
}
