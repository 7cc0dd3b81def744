import { didYouMean, type Fault } from './faults.ts'
import { type ConfigKey, keyNamed, type Node, rootNode } from './keys.ts'

/** A value and where it was written, in words for a fault message; no source for what nobody wrote. */
export interface Setting {
  value: unknown
  source?: string
}

/** What one source says, by key. */
export type Layer = Map<string, Setting>

/** What every source reports while it is read. A key with a fault of its own is not judged again. */
export type Faults = Fault[]

/** Turns a tree (a file's export, a launcher's defaults) into a layer; keys that do not exist are faults. */
export function layerOfTree(tree: object, source: string, faults: Faults): Layer {
  const layer: Layer = new Map()
  visit(rootNode, tree, '')
  return layer

  function visit(node: Node, branch: object, path: string) {
    for (const [name, value] of Object.entries(branch)) {
      const key = path ? `${path}.${name}` : name
      const schema = Object.hasOwn(node.properties!, name) ? node.properties![name] : undefined
      if (!schema) {
        faults.push({ key, message: `is not a configuration key (${source}).${didYouMean(key, keyNamed.keys())}` })
      } else if (value === undefined) {
        // An absent value, written out.
      } else if (!schema.properties) {
        layer.set(key, { value, source })
      } else if (isTree(value)) {
        visit(schema, value, key)
      } else {
        faults.push({ key, message: `must be an object (${source})` })
      }
    }
  }
}

/** Lays layers over each other: a later one wins, key by key. */
export const overlay = (...layers: Layer[]): Layer => new Map(layers.flatMap((layer) => [...layer]))

/** The tree a layer stands for. Branches that may not be missing are there even when empty. */
export function treeOf(layer: Layer): Record<string, unknown> {
  const build = (node: Node, path: string): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(node.properties!).flatMap(([name, schema]): [string, unknown][] => {
        const key = path ? `${path}.${name}` : name
        if (!schema.properties) return layer.has(key) ? [[name, layer.get(key)!.value]] : []
        const branch = build(schema, key)
        return node.required?.includes(name) || Object.keys(branch).length > 0 ? [[name, branch]] : []
      }),
    )
  return build(rootNode, '')
}

/** Whether anything is written below a branch, such as `oauth.presets.google`. */
export const mentions = (layer: Layer, branch: string) => [...layer.keys()].some((key) => key.startsWith(`${branch}.`))

/** Whether a key must have a value, given what else is written. */
export const isRequired = ({ required, optionalBranch }: ConfigKey, layer: Layer) =>
  required && (optionalBranch === undefined || mentions(layer, optionalBranch))

export const isTree = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
