import { type ConfigKey, keyNamed, type Node, rootNode } from './keys.ts'

/** A value and its source, in words for a fault message. Defaults have no source. */
export interface Setting {
  value: unknown
  source?: string
}

/** The settings of one source, by key. */
export type Layer = Map<string, Setting>

/** The faults found so far. A key with a fault is not checked again. */
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

/** One mistake in the configuration. `key` is a configuration key, or the unknown flag or variable. */
export interface Fault {
  key: string
  message: string
}

/** Thrown when the configuration cannot be used. Its message lists every fault on a line of its own and holds no values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly faults: Fault[]

  constructor(faults: Fault[]) {
    const lines = faults.map(({ key, message }) => `  ${key}: ${message}`)
    super(`The configuration has ${faults.length} fault${faults.length === 1 ? '' : 's'}:\n${lines.join('\n')}`)
    this.faults = faults
  }
}

/** ` Did you mean …?` when a known name is near the written one, else nothing. */
export function didYouMean(written: string, known: Iterable<string>): string {
  const limit = Math.max(2, Math.floor(written.length / 5))
  let best: { name: string; distance: number } | undefined
  for (const name of known) {
    const distance = editDistance(written.toLowerCase(), name.toLowerCase())
    if (distance <= limit && distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { name, distance }
  }
  return best ? ` Did you mean ${best.name}?` : ''
}

/** Levenshtein distance, one row at a time. */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let i = 1; i <= left.length; i++) {
    const next = [i]
    for (let j = 1; j <= right.length; j++) {
      const substitution = row[j - 1]! + (left[i - 1] === right[j - 1] ? 0 : 1)
      next.push(Math.min(substitution, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[right.length]!
}
