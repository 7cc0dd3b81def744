import { ConfigSchema } from './schema.ts'

/** A schema as this library reads it: JSON Schema plus the annotations of values.schema.ts. */
export interface Node {
  type?: string
  kind?: string
  properties?: Record<string, Node>
  required?: string[]
  items?: Node
  anyOf?: Node[]
  enum?: string[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  default?: unknown
  description?: string
  expects?: string
  derived?: string
  usual?: string
  flag?: string
}

/** One leaf of the configuration tree and the names it goes by. */
export interface ConfigKey {
  key: string
  schema: Node
  required: boolean
  /** Nearest enclosing branch that may be missing as a whole, such as `oauth.presets.google`. */
  optionalBranch?: string
  /** Variables that set it, strongest first; each also with `_FILE`. */
  variables: string[]
  /** Flags that set it, without the dashes. */
  flags: string[]
}

export const rootNode = ConfigSchema as unknown as Node

export const configKeys: readonly ConfigKey[] = [...leavesOf(rootNode, '')]

export const keyNamed: ReadonlyMap<string, ConfigKey> = new Map(configKeys.map((entry) => [entry.key, entry]))

/** `auth.authMode` to `PARLEY_AUTH_AUTH_MODE`. */
function variableOf(key: string): string {
  return `PARLEY_${key
    .replaceAll('.', '_')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toUpperCase()}`
}

function* leavesOf(node: Node, path: string, optionalBranch?: string): Generator<ConfigKey> {
  for (const [name, schema] of Object.entries(node.properties ?? {})) {
    const key = path ? `${path}.${name}` : name
    const required = node.required?.includes(name) ?? false
    if (schema.properties) {
      yield* leavesOf(schema, key, required ? optionalBranch : key)
    } else {
      const variables = [variableOf(key), ...(schema.usual ? [schema.usual] : [])]
      const flags = [key, ...(schema.flag ? [schema.flag] : [])]
      yield { key, schema, required, optionalBranch, variables, flags }
    }
  }
}
