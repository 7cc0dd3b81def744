import { execFileSync } from 'node:child_process'
import { mkdtemp, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { loadConfig } from '@parley/config'
import { metric } from '@parley/telemetry'
import { describe, expect, test } from 'vitest'
import { imageEnvironment } from './dockerfile.ts'
import { type Manifest, render, root, whyNotRendered } from './rendered.ts'
import { faultsOf } from './schemas.ts'

const services = ['admin', 'auth', 'directory', 'gateway', 'messaging', 'realtime', 'worker']
const withDatabase = services.filter((name) => name !== 'gateway')
const folders = ['k8s/base', 'k8s/overlays/evaluation', 'k8s/overlays/production']

describe.skipIf(whyNotRendered)(`manifests${whyNotRendered ? ` (${whyNotRendered})` : ''}`, () => {
  const rendered = Object.fromEntries(whyNotRendered ? [] : folders.map((folder) => [folder, render(folder)]))
  const base = rendered['k8s/base'] ?? []
  const evaluation = rendered['k8s/overlays/evaluation'] ?? []
  const production = rendered['k8s/overlays/production'] ?? []
  const all = [...base, ...evaluation, ...production]
  const workloads = all.filter(({ kind }) => ['Deployment', 'StatefulSet', 'Job'].includes(kind))
  const named = (documents: Manifest[], kind: string, name: string) =>
    documents.find((document) => document.kind === kind && document.metadata.name === name)

  test.each(folders)(
    '%s: every document is as the schema of its kind has it, without an unknown field',
    async (folder) => {
      const faults = await Promise.all(rendered[folder]!.map(faultsOf))
      expect(faults.flat()).toEqual([])
      expect(rendered[folder]!.length).toBeGreaterThan(40)
    },
  )

  test('the nginx variant too', async () => {
    const faults = await Promise.all(render('test/deploy/nginx-variant').map(faultsOf))
    expect(faults.flat()).toEqual([])
  })

  test.each<[string, string, (deployment: Manifest) => void]>([
    [
      'a misspelt field',
      'maxUnavailible',
      ({ spec }) => Object.assign(spec.strategy.rollingUpdate, { maxUnavailible: 0 }),
    ],
    [
      'one deep down',
      'readOnlyRootFileSystem',
      ({ spec }) => Object.assign(spec.template.spec.containers[0].securityContext, { readOnlyRootFileSystem: true }),
    ],
    [
      'a field at the wrong place',
      '/spec/template/terminationGracePeriodSeconds',
      ({ spec }) => Object.assign(spec.template, { terminationGracePeriodSeconds: 5 }),
    ],
    ['a wrong type', '/spec/replicas', ({ spec }) => Object.assign(spec, { replicas: 'two' })],
    ['a missing one', 'selector', ({ spec }) => delete spec.selector],
  ])('%s is found', async (_what, says, spoil) => {
    const deployment = structuredClone(named(base, 'Deployment', 'auth')!)
    expect(await faultsOf(deployment)).toEqual([])
    spoil(deployment)
    expect((await faultsOf(deployment)).join()).toContain(says)
  })

  test('every service of the repository has each of its objects', async () => {
    expect((await readdir(path.join(import.meta.dirname, '../../services'))).sort()).toEqual(services)
    const kinds = [
      'Deployment',
      'Service',
      'ServiceAccount',
      'HorizontalPodAutoscaler',
      'PodDisruptionBudget',
      'NetworkPolicy',
    ]
    const missing = services.flatMap((name) =>
      kinds.filter((kind) => !named(base, kind, name)).map((kind) => `${kind} ${name}`),
    )
    expect(missing).toEqual([])
    for (const name of services) {
      const labels = named(base, 'Deployment', name)!.spec.template.metadata.labels
      expect(named(base, 'Service', name)!.spec.selector).toEqual(labels)
      for (const kind of ['PodDisruptionBudget', 'NetworkPolicy']) {
        const { selector, podSelector } = named(base, kind, name)!.spec
        expect([kind, (selector ?? podSelector).matchLabels]).toEqual([kind, labels])
      }
      expect(named(base, 'HorizontalPodAutoscaler', name)!.spec.scaleTargetRef.name).toBe(name)
    }
  })

  test('pods are as the restricted standard asks, spread, and of one image that starts their service', () => {
    for (const { metadata, kind, spec } of workloads) {
      const pod = spec.template.spec
      expect(pod.securityContext, metadata.name).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      })
      expect([pod.automountServiceAccountToken, pod.enableServiceLinks]).toEqual([false, false])
      for (const container of pod.containers) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
        expect(container.resources).toMatchObject({
          requests: { cpu: expect.any(String), memory: expect.any(String) },
          limits: { memory: expect.any(String) },
        })
        expect(container.image).not.toMatch(/:latest$/)
      }
      if (kind === 'Deployment') {
        expect(pod.containers[0].args).toEqual([metadata.name])
        expect(pod.topologySpreadConstraints).toHaveLength(2)
      }
    }
    const images = (documents: Manifest[]) =>
      new Set(
        documents
          .filter(({ kind, metadata }) => kind === 'Deployment' || metadata.name === 'migrate')
          .flatMap(({ spec }) => spec?.template?.spec.containers?.map(({ image }: { image: string }) => image) ?? []),
      )
    for (const folder of folders) expect(images(rendered[folder]!).size).toBe(1)
  })

  test('a process that stops is given the time it takes, and gives its clients theirs', async () => {
    for (const { metadata, spec } of base.filter(({ kind }) => kind === 'Deployment')) {
      const pod = spec.template.spec
      const { server, events } = await configurationOf(base, metadata.name)
      const preStop = pod.containers[0].lifecycle.preStop.sleep.seconds
      // The gateways look up the names every 3 s, and what resolves them keeps an answer for up to 5 s.
      expect(preStop).toBeGreaterThanOrEqual(10)
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(preStop + server.shutdownSeconds + 5)
      // libs/service cuts what is still open at half of the time.
      expect(events.drainSeconds).toBeLessThanOrEqual(server.shutdownSeconds / 2)
      expect(spec.strategy.rollingUpdate.maxUnavailable).toBe(0)
      expect(spec.replicas).toBeUndefined()
    }
  })

  test.each(folders)('%s: every environment is a configuration that the code accepts', async (folder) => {
    for (const name of [...services, 'migrate']) {
      const config = await configurationOf(rendered[folder]!, name)
      expect([config.environment, config.auth.authMode]).toEqual(['production', 'password'])
    }
  })

  test('ports and probes are those of the image and of the code', async () => {
    const { server, metrics } = await configurationOf(base, 'auth')
    for (const { spec } of base.filter(({ kind }) => kind === 'Deployment')) {
      const [container] = spec.template.spec.containers
      expect(container.ports).toEqual([
        { name: 'http', containerPort: server.port },
        { name: 'metrics', containerPort: metrics.port },
      ])
      const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe]
      expect(probes.map(({ httpGet }) => [httpGet.path, httpGet.port])).toEqual([
        ['/health/live', 'http'],
        ['/health/live', 'http'],
        ['/health/ready', 'http'],
      ])
    }
    for (const { spec } of base.filter(({ kind }) => kind === 'Service')) {
      for (const { name, port, targetPort } of spec.ports)
        expect([targetPort, port]).toEqual([name, name === 'http' ? server.port : metrics.port])
    }
    const { gateway } = await configurationOf(base, 'gateway')
    for (const [service, [url, ...others]] of Object.entries(gateway.upstreams)) {
      const { hostname, port } = new URL(url!)
      expect(others).toEqual([])
      expect(Number(port)).toBe(server.port)
      expect(named(base, 'Service', hostname)!.spec).toMatchObject({
        clusterIP: 'None',
        selector: { 'app.kubernetes.io/name': service },
      })
    }
  })

  test('who may talk to whom', () => {
    expect(named(base, 'NetworkPolicy', 'default-deny')!.spec).toEqual({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
    })
    const policy = (name: string) => named(base, 'NetworkPolicy', name)!.spec
    const fromIngress = services.filter((name) =>
      JSON.stringify(policy(name).ingress).includes('parley.example/ingress'),
    )
    expect(fromIngress).toEqual(['gateway', 'realtime'])
    const toPostgres = services.filter((name) => reaches(policy(name), 5432))
    expect(toPostgres).toEqual(withDatabase)
    const fromGateway = services.filter((name) =>
      JSON.stringify(policy(name).ingress ?? []).includes('"app.kubernetes.io/name":"gateway"'),
    )
    expect(fromGateway).toEqual(['admin', 'auth', 'directory', 'messaging', 'realtime'])

    const allowed = named(evaluation, 'NetworkPolicy', 'postgres')!.spec.ingress[0].from[0].podSelector
      .matchExpressions[0].values
    expect(allowed.toSorted()).toEqual([...withDatabase, 'migrate'].sort())
  })

  test('each process has a way into PostgreSQL of its own, and the secrets are not in the repository', () => {
    for (const documents of Object.values(rendered)) {
      expect(documents.filter(({ kind }) => kind === 'Secret')).toEqual([])
      for (const name of [...services, 'migrate']) {
        const { spec } = (named(documents, 'Deployment', name) ?? named(documents, 'Job', name))!
        const { sources } = spec.template.spec.volumes.find(
          (volume: { name: string }) => volume.name === 'secrets',
        ).projected
        const secrets = sources.map(({ secret }: { secret: { name: string } }) => secret.name)
        expect(secrets).toEqual(['parley-shared', ...(name === 'gateway' ? [] : [`parley-database-${name}`])])
      }
    }
  })

  test('what the set-up prints are the Secrets that are asked for', async () => {
    const text = execFileSync(process.execPath, ['deploy/image/setup.ts', '--kubernetes'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const { items } = JSON.parse(text) as { items: Manifest[] }
    expect((await Promise.all(items.map(faultsOf))).flat()).toEqual([])
    const made = new Map(items.map(({ metadata, stringData }) => [metadata.name, Object.keys(stringData)]))
    for (const { spec } of evaluation.filter(({ kind }) => ['Deployment', 'StatefulSet', 'Job'].includes(kind))) {
      for (const { projected, secret } of spec.template.spec.volumes) {
        if (secret) expect(made.has(secret.secretName), secret.secretName).toBe(true)
        for (const source of projected?.sources ?? []) {
          const { name, items: keys = [] } = source.secret
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

  test('event streams go straight to realtime, unbuffered and without a time limit', () => {
    const { rules } = named(production, 'HTTPRoute', 'parley')!.spec
    expect(rules[0]).toMatchObject({
      matches: [{ path: { type: 'Exact', value: '/events' } }],
      backendRefs: [{ name: 'realtime', port: 3000 }],
      timeouts: { request: '0s', backendRequest: '0s' },
    })
    const ingress = named(render('test/deploy/nginx-variant'), 'Ingress', 'parley-events')!
    expect(ingress.metadata.annotations).toMatchObject({
      'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
      'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600',
    })
    expect(ingress.spec.rules[0].http.paths).toMatchObject([
      { path: '/events', pathType: 'Exact', backend: { service: { name: 'realtime' } } },
    ])
  })

  test('realtime grows with its open streams', () => {
    const { metrics } = named(production, 'HorizontalPodAutoscaler', 'realtime')!.spec
    const [pods] = metrics.filter(({ type }: { type: string }) => type === 'Pods')
    expect(pods.pods.metric.name).toBe(metric.streamsOpen.name)
    expect(Number(pods.pods.target.averageValue)).toBeLessThan(50_000)
  })

  test('every name that is referred to is there', () => {
    for (const documents of [evaluation, production]) {
      for (const { spec } of documents.filter(({ kind }) => ['Deployment', 'Job'].includes(kind))) {
        for (const { envFrom } of spec.template.spec.containers) {
          for (const { configMapRef } of envFrom) expect(named(documents, 'ConfigMap', configMapRef.name)).toBeDefined()
        }
        expect(named(documents, 'ServiceAccount', spec.template.spec.serviceAccountName)).toBeDefined()
      }
      expect(
        new Set(documents.filter(({ kind }) => kind !== 'Namespace').map(({ metadata }) => metadata.namespace)),
      ).toEqual(new Set(['parley']))
    }
  })
})

const reaches = (policy: { egress: { ports?: { port: number }[] }[] }, port: number) =>
  policy.egress.some(({ ports = [] }) => ports.some((each) => each.port === port))

/** What the code makes of the environment of a container: the image's, its ConfigMaps' and its own, with made-up secrets. */
async function configurationOf(documents: Manifest[], name: string) {
  const { spec } = documents.find(
    ({ kind, metadata }) => ['Deployment', 'Job'].includes(kind) && metadata.name === name,
  )!
  const [container] = spec.template.spec.containers
  const directory = await mkdtemp(path.join(tmpdir(), 'parley-environment-'))
  const secrets: Record<string, string> = {
    'jwt-secret': 'a secret of at least 32 characters',
    'redis-url': 'redis://:secret@redis:6379',
    'initial-user-password': 'long enough',
    'database-url': 'postgres://parley:secret@postgres:5432/parley',
  }
  for (const [file, text] of Object.entries(secrets)) await writeFile(path.join(directory, file), text)
  const maps = container.envFrom.map(
    ({ configMapRef }: { configMapRef: { name: string } }) =>
      documents.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMapRef.name)!.data,
  )
  const own = Object.fromEntries(
    (container.env as { name: string; value: string }[]).map(({ name, value }) => [name, value]),
  )
  const env = Object.fromEntries(
    Object.entries({ ...imageEnvironment(), ...Object.assign({}, ...maps), ...own } as Record<string, string>).map(
      ([key, value]) => [key, value.replace(/^\/run\/secrets/, directory)],
    ),
  )
  return loadConfig({ argv: [], env, cwd: directory })
}
