import { didYouMean, type Faults } from './faults.ts'
import { type ConfigKey, keyNamed, type Node, rootNode } from './keys.ts'

/** A value and its source, in words for a fault message. Defaults have no source. */
export interface Setting {
  value: unknown
  source?: string
}

/** The settings of one source, by key. */
export type Layer = Map<string, Setting>

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
        // A key that is written as undefined counts as absent.
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

/** Combines layers: a later one wins, key by key. */
export const overlay = (...layers: Layer[]): Layer => new Map(layers.flatMap((layer) => [...layer]))

/** The configuration tree of a layer. It has all required branches, also empty ones. */
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

/** Whether any key below a branch is set, such as `oauth.presets.google`. */
export const mentions = (layer: Layer, branch: string) => [...layer.keys()].some((key) => key.startsWith(`${branch}.`))

/** Whether a key must have a value. The keys of an optional branch are required once one of them is set. */
export const isRequired = ({ required, optionalBranch }: ConfigKey, layer: Layer) =>
  required && (optionalBranch === undefined || mentions(layer, optionalBranch))

export const isTree = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
