import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { base, evaluation, folders, named, ofKind, production, rendered, services } from './manifests.ts'
import { type Manifest, render, whyNotRendered } from './rendered.ts'
import { faultsOf } from './schemas.ts'

const workloads = [...base, ...evaluation, ...production].filter(({ kind }) =>
  ['Deployment', 'StatefulSet'].includes(kind),
)

describe.skipIf(whyNotRendered)(`manifests${whyNotRendered ? ` (${whyNotRendered})` : ''}`, () => {
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

  test('Redis of the evaluation refuses writes before its memory is full, and has as much again for its rewrites', () => {
    const [{ args, resources }] = named(evaluation, 'StatefulSet', 'redis')!.spec.template.spec.containers
    const mebibytes = (size: string) => Number(/^(\d+)(?:mb|Mi)$/.exec(size)![1])
    expect(mebibytes(args[args.indexOf('--maxmemory') + 1]) * 2).toBeLessThanOrEqual(mebibytes(resources.limits.memory))
  })

  test('every service of the repository has each of its objects', async () => {
    const ofRepository = await readdir(path.join(import.meta.dirname, '../../services'))
    expect(ofRepository.sort()).toEqual(services)
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
      expect(named(base, 'PodDisruptionBudget', name)!.spec).toMatchObject({
        maxUnavailable: 1,
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
      })
    }
  })

  test('pods meet the restricted standard, are spread, and run one image that starts their service', () => {
    for (const { metadata, kind, spec } of workloads) {
      const pod = spec.template.spec
      expect(pod.securityContext, metadata.name).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      })
      expect([pod.automountServiceAccountToken, pod.enableServiceLinks]).toEqual([false, false])
      for (const container of containersOf(spec)) {
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
      if (kind === 'Deployment' && metadata.name !== 'migrate') {
        expect(pod.containers[0].args).toEqual([metadata.name])
        expect(pod.topologySpreadConstraints).toHaveLength(2)
        // During a rolling update only the new pods are spread, because the old ones are about to end.
        for (const constraint of pod.topologySpreadConstraints)
          expect(constraint.matchLabelKeys).toEqual(['pod-template-hash'])
      }
    }
    const images = (documents: Manifest[]) =>
      new Set(
        ofKind(documents, 'Deployment').flatMap(({ spec }) =>
          containersOf(spec).map(({ image }: { image: string }) => image),
        ),
      )
    for (const folder of folders) expect(images(rendered[folder]!).size).toBe(1)
  })

  test('the manifests can be applied again: migrations run in a Deployment, not in a Job, whose template cannot be changed', () => {
    for (const documents of Object.values(rendered)) {
      expect(ofKind(documents, 'Job')).toEqual([])
      const { spec } = named(documents, 'Deployment', 'migrate')!
      expect(spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
      const { initContainers, containers } = spec.template.spec
      expect(initContainers.map(({ args }: { args: string[] }) => args.slice(0, 2))).toEqual([['parley', 'migrate']])
      // The container keeps running, so it must not have the database owner's credentials.
      expect(containers).toMatchObject([{ command: ['sleep', 'infinity'] }])
      expect(containers[0]).not.toHaveProperty('volumeMounts')
      expect(containers[0]).not.toHaveProperty('env')
    }
  })

  test('Argo CD and Flux prune neither volumes with data nor settings that are still in use', () => {
    for (const documents of Object.values(rendered)) {
      const kept = [...ofKind(documents, 'Namespace'), ...ofKind(documents, 'StatefulSet')]
      expect(kept.length).toBeGreaterThan(0)
      for (const { kind, metadata } of kept) {
        expect(metadata.annotations, `${kind} ${metadata.name}`).toMatchObject({
          'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
          'kustomize.toolkit.fluxcd.io/prune': 'disabled',
        })
      }
      const settings = ofKind(documents, 'ConfigMap').find(({ metadata }) => /^parley-\w{10}$/.test(metadata.name))!
      expect(settings.metadata.annotations).toEqual({ 'argocd.argoproj.io/sync-options': 'PruneLast=true' })
    }
  })

  test('every name that is referred to is there', () => {
    for (const documents of [evaluation, production]) {
      for (const { spec } of ofKind(documents, 'Deployment')) {
        for (const { envFrom = [] } of containersOf(spec)) {
          for (const { configMapRef } of envFrom) {
            if (!configMapRef.optional) expect(named(documents, 'ConfigMap', configMapRef.name)).toBeDefined()
          }
        }
        expect(named(documents, 'ServiceAccount', spec.template.spec.serviceAccountName)).toBeDefined()
      }
      expect(
        new Set(documents.filter(({ kind }) => kind !== 'Namespace').map(({ metadata }) => metadata.namespace)),
      ).toEqual(new Set(['parley']))
    }
  })
})

const containersOf = ({ template }: Manifest['spec']) => [
  ...(template.spec.initContainers ?? []),
  ...template.spec.containers,
]
