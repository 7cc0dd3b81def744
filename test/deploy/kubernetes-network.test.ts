import { readFileSync } from 'node:fs'
import path from 'node:path'
import { metric } from '@parley/telemetry'
import { describe, expect, test } from 'vitest'
import {
  base,
  configurationOf,
  deploymentsOf,
  evaluation,
  folders,
  named,
  ofKind,
  production,
  rendered,
  services,
} from './manifests.ts'
import { parseManifests, render, root, whyNotRendered } from './rendered.ts'
import { faultsOf } from './schemas.ts'

const withDatabase = services.filter((name) => !['gateway', 'web'].includes(name))

describe.skipIf(whyNotRendered)(`what runs in a cluster${whyNotRendered ? ` (${whyNotRendered})` : ''}`, () => {
  test('a stopping process has the time that it needs, and gives its clients theirs', async () => {
    for (const { metadata, spec } of deploymentsOf(base)) {
      const pod = spec.template.spec
      const { server, events } = await configurationOf(base, metadata.name)
      const preStop = pod.containers[0].lifecycle.preStop.sleep.seconds
      // The gateways resolve the names every 3 s, and the resolver caches a result for up to 5 s.
      expect(preStop).toBeGreaterThanOrEqual(10)
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(preStop + server.shutdownSeconds + 5)
      // libs/service ends open requests after half of the time.
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
    for (const { metadata, spec } of deploymentsOf(base)) {
      const [container] = spec.template.spec.containers
      expect(container.ports).toEqual([
        { name: 'http', containerPort: server.port },
        { name: 'metrics', containerPort: metrics.port },
      ])
      const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe]
      expect(probes.map(({ httpGet }) => [httpGet.path, httpGet.port])).toEqual([
        ['/health/live', 'http'],
        ['/health/live', 'http'],
        // A service that is unavailable must not make the gateways unready, because all other services would be
        // unreachable too.
        [metadata.name === 'gateway' ? '/health/live' : '/health/ready', 'http'],
      ])
    }
    for (const { spec } of ofKind(base, 'Service')) {
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

  test('allowed connections', () => {
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
    expect(services.filter((name) => !reaches(policy(name), 6379))).toEqual(['web'])
    // Auth calls OAuth providers, integrations calls receivers of events, and other services call object storage.
    const calls = ['auth', 'integrations']
    expect(services.filter((name) => reaches(policy(name), 443))).toEqual(
      services.filter((name) => calls.includes(name) || readsFiles(name)),
    )
    const toCollector = [...services, 'migrate'].filter((name) => reaches(policy(name), 4318))
    expect(toCollector).toEqual([...services, 'migrate'])
    const fromGateway = services.filter((name) =>
      JSON.stringify(policy(name).ingress ?? []).includes('"app.kubernetes.io/name":"gateway"'),
    )
    expect(fromGateway).toEqual(['admin', 'auth', 'directory', 'integrations', 'messaging', 'realtime', 'web'])

    const allowed = named(evaluation, 'NetworkPolicy', 'postgres')!.spec.ingress[0].from[0].podSelector
      .matchExpressions[0].values
    expect(allowed.toSorted()).toEqual([...withDatabase, 'migrate'].sort())
  })

  test('the policy of the documentation for an object store is valid, and is for the services that read files', async () => {
    const documentation = readFileSync(path.join(root, 'docs/install.md'), 'utf8')
    const [, yaml] = /```yaml\n([^`]*kind: NetworkPolicy[^`]*)```/.exec(documentation)!
    const [policy] = parseManifests(yaml!)
    expect(await faultsOf(policy!)).toEqual([])
    const [{ values }] = policy!.spec.podSelector.matchExpressions
    expect(values.toSorted()).toEqual(services.filter(readsFiles))
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

  test('no route ends a long download: the time limits are those of the gateway', () => {
    const { rules } = named(production, 'HTTPRoute', 'parley')!.spec
    for (const { timeouts } of rules) expect(timeouts).toEqual({ request: '0s', backendRequest: '0s' })
  })

  test('realtime grows with its open streams', () => {
    const { metrics } = named(production, 'HorizontalPodAutoscaler', 'realtime')!.spec
    const [pods] = metrics.filter(({ type }: { type: string }) => type === 'Pods')
    expect(pods.pods.metric.name).toBe(metric.streamsOpen.name)
    expect(Number(pods.pods.target.averageValue)).toBeLessThan(50_000)
  })
})

const reaches = (policy: { egress: { ports?: { port: number }[] }[] }, port: number) =>
  policy.egress.some(({ ports = [] }) => ports.some((each) => each.port === port))

/** Whether a service reads or writes files, which may be in object storage. */
function readsFiles(service: string): boolean {
  const { dependencies } = JSON.parse(readFileSync(path.join(root, 'services', service, 'package.json'), 'utf8'))
  return '@parley/blobs' in dependencies
}
