import { configurationFrom } from './environment.ts'
import { type Manifest, render, whyNotRendered } from './rendered.ts'

export const services = [
  'admin',
  'auth',
  'directory',
  'gateway',
  'integrations',
  'messaging',
  'realtime',
  'web',
  'worker',
]
export const folders = ['k8s/base', 'k8s/overlays/evaluation', 'k8s/overlays/production']

/** The documents of each folder; empty when kubectl is missing. */
export const rendered: Record<string, Manifest[]> = Object.fromEntries(
  folders.map((folder) => [folder, whyNotRendered ? [] : render(folder)]),
)
export const [base, evaluation, production] = folders.map((folder) => rendered[folder]!) as [
  Manifest[],
  Manifest[],
  Manifest[],
]

export const ofKind = (documents: Manifest[], kind: string) => documents.filter((document) => document.kind === kind)
/** The Deployments of the services, without `migrate`, which serves no requests. */
export const deploymentsOf = (documents: Manifest[]) =>
  ofKind(documents, 'Deployment').filter(({ metadata }) => metadata.name !== 'migrate')
export const named = (documents: Manifest[], kind: string, name: string) =>
  ofKind(documents, kind).find(({ metadata }) => metadata.name === name)

/**
 * The configuration that the code reads from the environment of a container (of the image, its ConfigMaps and its own),
 * with example secrets.
 */
export function configurationOf(documents: Manifest[], name: string) {
  const pod = named(documents, 'Deployment', name)!.spec.template.spec
  const [container] = pod.initContainers ?? pod.containers
  const maps = (container.envFrom as { configMapRef: { name: string; optional?: boolean } }[]).map(
    ({ configMapRef: { name, optional } }) =>
      optional ? named(documents, 'ConfigMap', name)?.data : named(documents, 'ConfigMap', name)!.data,
  )
  const own = (container.env ?? []).map(({ name, value }: { name: string; value: string }) => [name, value])
  return configurationFrom(
    name,
    { ...Object.assign({}, ...maps), ...Object.fromEntries(own) },
    mountedSecrets(documents, name),
  )
}

/** The files below `/run/secrets` of a process, without those of optional Secrets. */
export function mountedSecrets(documents: Manifest[], name: string): string[] {
  return secretSources(documents, name).flatMap(({ name: secret, items, optional }) =>
    optional ? [] : secret.startsWith('parley-database-') ? ['database-url'] : items!.map(({ path }) => path),
  )
}

interface SecretSource {
  name: string
  items?: { key: string; path: string }[]
  optional?: boolean
}

export function secretSources(documents: Manifest[], name: string): SecretSource[] {
  const { spec } = named(documents, 'Deployment', name)!
  const { projected } = spec.template.spec.volumes.find((volume: { name: string }) => volume.name === 'secrets')
  return projected.sources.map(({ secret }: { secret: SecretSource }) => secret)
}
