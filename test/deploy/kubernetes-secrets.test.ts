import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { configurationOf, evaluation, mountedSecrets, named, rendered, secretSources, services } from './manifests.ts'
import { type Manifest, render, root, whyNotRendered } from './rendered.ts'
import { faultsOf } from './schemas.ts'

describe.skipIf(whyNotRendered)(`secrets of a cluster${whyNotRendered ? ` (${whyNotRendered})` : ''}`, () => {
  test('each process is given the secrets that it needs and no others, and none is in the repository', () => {
    for (const documents of Object.values(rendered)) {
      expect(documents.filter(({ kind }) => kind === 'Secret')).toEqual([])
      for (const name of [...services, 'migrate']) {
        const sources = secretSources(documents, name)
        const usesRedis = !['migrate', 'web'].includes(name)
        const shared = usesRedis ? ['redis-url', ...(name === 'worker' ? [] : ['jwt-secret'])] : []
        const database = ['gateway', 'web'].includes(name) ? [] : ['database-url']
        expect(mountedSecrets(documents, name).sort(), name).toEqual([...shared, ...database].sort())
        expect(sources.flatMap(({ name, optional }) => (optional ? [name] : []))).toEqual([
          ...(name === 'migrate' ? ['parley-first-start'] : []),
          `parley-settings-${name}`,
        ])
        expect(sources.map(({ name }) => name).filter((secret) => secret.startsWith('parley-database-'))).toEqual(
          database.map(() => `parley-database-${name}`),
        )
      }
    }
  })

  test('the first password is mounted by the migration alone, and need not be there after the first start', () => {
    for (const documents of Object.values(rendered)) {
      const readers = documents.filter((document) =>
        /parley-first-start|initial-user-password/.test(JSON.stringify(document)),
      )
      expect(readers.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([['Deployment', 'migrate']])
    }
  })

  test('with key pairs only auth gets the private keys, and services that check tokens get the public ones', async () => {
    const documents = render('test/deploy/key-pairs-variant')
    expect((await Promise.all(documents.map(faultsOf))).flat()).toEqual([])
    const [lists] = documents.filter(({ metadata }) => metadata.name.startsWith('parley-jwt-keys-'))
    for (const name of [...services, 'migrate']) {
      const secrets = secretSources(documents, name).filter((source) => source.name.startsWith('parley-jwt'))
      const pod = named(documents, 'Deployment', name)!.spec.template.spec
      const { env = [] } = (pod.initContainers ?? pod.containers)[0]
      const keys = env.filter((each: { name: string }) => /^PARLEY_AUTH_JWT_(PUBLIC_)?KEYS$/.test(each.name))
      const isSigning = name === 'auth'
      if (['worker', 'web', 'migrate'].includes(name)) {
        expect([name, secrets, keys]).toEqual([name, [], []])
        continue
      }
      expect([name, secrets]).toEqual([name, [{ name: isSigning ? 'parley-jwt-keys' : 'parley-jwt-public-keys' }]])
      expect([name, keys]).toEqual([
        name,
        [
          {
            name: isSigning ? 'PARLEY_AUTH_JWT_KEYS' : 'PARLEY_AUTH_JWT_PUBLIC_KEYS',
            valueFrom: { configMapKeyRef: { name: lists!.metadata.name, key: isSigning ? 'signing' : 'verifying' } },
          },
        ],
      ])
    }
  })

  test('with Sentinels each process that uses Redis gets its password, and the others ignore the settings of Redis', async () => {
    const documents = render('test/deploy/redis-variant')
    expect((await Promise.all(documents.map(faultsOf))).flat()).toEqual([])
    for (const name of [...services, 'migrate']) {
      const usesRedis = !['migrate', 'web'].includes(name)
      const files = mountedSecrets(documents, name)
      expect(
        files.filter((file) => file.startsWith('redis-')),
        name,
      ).toEqual(usesRedis ? ['redis-password'] : [])
      const { redis, database } = await configurationOf(documents, name)
      expect(redis, name).toMatchObject(
        usesRedis ? { sentinelName: 'parley', password: 'secret' } : { url: 'redis://unused.invalid' },
      )
      expect(database.tls.ca === undefined, name).toBe(['gateway', 'web'].includes(name))
      const ports = named(documents, 'NetworkPolicy', name)!.spec.egress.flatMap(
        ({ ports = [] }: { ports?: { port: number }[] }) => ports.map(({ port }) => port),
      )
      expect(ports.includes(26_379), name).toBe(usesRedis)
    }
  })

  test('the set-up prints exactly the required Secrets', async () => {
    const text = execFileSync(process.execPath, ['deploy/image/setup.ts', '--kubernetes'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const { items } = JSON.parse(text) as { items: Manifest[] }
    expect((await Promise.all(items.map(faultsOf))).flat()).toEqual([])
    const made = new Map(items.map(({ metadata, stringData }) => [metadata.name, Object.keys(stringData)]))
    for (const { spec } of evaluation.filter(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind))) {
      for (const { projected, secret } of spec.template.spec.volumes) {
        if (secret) expect(made.has(secret.secretName), secret.secretName).toBe(true)
        for (const source of projected?.sources ?? []) {
          const { name, items: keys = [], optional = false } = source.secret
          if (optional) continue
          expect(made.get(name), name).toEqual(expect.arrayContaining(keys.map(({ key }: { key: string }) => key)))
        }
      }
    }
    expect(made.get('parley-database-auth')).toEqual(['database-url'])
    const migrating = items.find((item) => item.metadata.name === 'parley-database-migrate')!.stringData
    for (const { metadata, stringData } of items.filter((item) => item.metadata.name.startsWith('parley-database-'))) {
      const name = metadata.name.slice('parley-database-'.length)
      const { username, password } = new URL(stringData['database-url'])
      if (name === 'migrate') expect(username).toBe('parley')
      else expect([username, password]).toEqual([`parley_${name}`, migrating[`database-password-${name}`]])
    }
  })
})
