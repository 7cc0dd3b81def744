import { configurationFrom } from './environment.ts'
import { type Manifest, render, whyNotRendered } from './rendered.ts'

export const services = ['admin', 'auth', 'directory', 'gateway', 'messaging', 'realtime', 'worker']
export const folders = ['k8s/base', 'k8s/overlays/evaluation', 'k8s/overlays/production']

/** The documents of each folder; none where kubectl is missing. */
export const rendered: Record<string, Manifest[]> = Object.fromEntries(
  folders.map((folder) => [folder, whyNotRendered ? [] : render(folder)]),
)
export const [base, evaluation, production] = folders.map((folder) => rendered[folder]!) as [
  Manifest[],
  Manifest[],
  Manifest[],
]

export const ofKind = (documents: Manifest[], kind: string) => documents.filter((document) => document.kind === kind)
export const named = (documents: Manifest[], kind: string, name: string) =>
  ofKind(documents, kind).find(({ metadata }) => metadata.name === name)

/** What the code makes of the environment of a container: the image's, its ConfigMaps' and its own, with made-up secrets. */
export function configurationOf(documents: Manifest[], name: string) {
  const { spec } = (named(documents, 'Deployment', name) ?? named(documents, 'Job', name))!
  const [container] = spec.template.spec.containers
  const maps = (container.envFrom as { configMapRef: { name: string } }[]).map(
    ({ configMapRef }) => named(documents, 'ConfigMap', configMapRef.name)!.data,
  )
  const own = (container.env as { name: string; value: string }[]).map(({ name, value }) => [name, value])
  return configurationFrom({ ...Object.assign({}, ...maps), ...Object.fromEntries(own) })
}
