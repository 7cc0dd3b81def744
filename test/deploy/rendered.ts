import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { parseAllDocuments } from 'yaml'

export const root = path.join(import.meta.dirname, '../..')

/** A Kubernetes document. The schemas check its fields, so tests may read any field. */
export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> }
  // biome-ignore lint/suspicious/noExplicitAny: documents of any kind
  [field: string]: any
}

/** Null when kubectl can render; otherwise the reason why it cannot. */
export const whyNotRendered = (() => {
  try {
    execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore' })
    return null
  } catch {
    return 'kubectl is not installed'
  }
})()

/** The documents that `kubectl apply -k` would send, rendered without a cluster. */
export function render(folder: string): Manifest[] {
  const text = execFileSync('kubectl', ['kustomize', path.join(root, folder)], { encoding: 'utf8' })
  return parseManifests(text)
}

export const parseManifests = (text: string): Manifest[] =>
  parseAllDocuments(text).map((document) => document.toJS() as Manifest)
