import { existsSync } from 'node:fs'
import path from 'node:path'
import { Ajv } from 'ajv'
import composeverter from 'composeverter'
import { expect, test } from 'vitest'
import { composition, withoutProfile } from './composition.ts'
import { configurationFrom } from './environment.ts'
import { root } from './rendered.ts'

const services = ['gateway', 'auth', 'directory', 'messaging', 'realtime', 'admin', 'worker']

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
    volumes: composition.services.migrate!.volumes,
  })
  expect(composition.services.postgres!.image).toMatch(/^postgres:18/)
  expect(composition.services.redis!.image).toMatch(/^redis:8/)
  expect(composition.services.redis!.command!.join(' ')).toMatch(/--appendonly yes --maxmemory-policy noeviction$/)
  for (const { image } of Object.values(composition.services)) expect(image).toMatch(/:(?!latest$).+/)
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
  const [, ...inside] = services
  for (const name of inside) expect(waits(name)).toEqual({ migrate: done, redis: healthy })
  expect(waits('gateway')).toEqual(Object.fromEntries(inside.map((name) => [name, healthy])))
})

test('each reader of secrets has a folder of its own, which only the set-up may write', () => {
  const readers = [...services, 'migrate', 'postgres', 'redis']
  for (const name of readers) {
    const mounted = composition.services[name]!.volumes!.filter((volume) => volume.startsWith('secrets-'))
    expect(mounted).toEqual([`secrets-${name}:/run/secrets:ro`])
  }
  const written = readers.map((name) => `secrets-${name}:/secrets/${name}`)
  expect(composition.services.setup!.volumes!.toSorted()).toEqual(written.sort())
  expect(composition.services.setup!.network_mode).toBe('none')
  for (const volume of Object.values(composition.services).flatMap(({ volumes = [] }) => volumes)) {
    const [source] = volume.split(':')
    expect(
      source!.startsWith('./') ? existsSync(path.join(root, source!)) : source! in composition.volumes,
      volume,
    ).toBe(true)
  }
})

test('every environment is a configuration that the code accepts', async () => {
  for (const name of [...services, 'migrate']) {
    const { environment = {}, stop_grace_period } = composition.services[name]!
    const config = await configurationFrom(environment)
    expect([config.environment, config.auth.authMode, config.server.port]).toEqual(['production', 'password', 3000])
    expect(config.events.drainSeconds).toBeLessThanOrEqual(config.server.shutdownSeconds / 2)
    if (name === 'migrate') continue
    expect(Number.parseInt(stop_grace_period as string, 10)).toBeGreaterThan(config.server.shutdownSeconds)
    if (name !== 'gateway') continue
    for (const [service, urls] of Object.entries(config.gateway.upstreams))
      expect(urls).toEqual([`http://${service}:3000`])
  }
})

/** The library writes regular expressions with the slashes of JavaScript around them. */
function compileSpecification() {
  const schema = JSON.stringify(composeverter.getDockerComposeSchemaWithoutFormats())
  const withPatterns = JSON.parse(schema, (key, value) =>
    key === 'pattern' && /^\/.*\/$/.test(value) ? value.slice(1, -1) : value,
  )
  return new Ajv({ strict: false }).compile(withPatterns)
}
