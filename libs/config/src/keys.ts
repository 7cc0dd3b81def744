import { ConfigSchema } from './schema.ts'

/** A schema as this lib reads it: JSON Schema plus the annotations of values.schema.ts. */
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

/** One leaf of the configuration tree, with the names by which it can be set. */
export interface ConfigKey {
  key: string
  schema: Node
  required: boolean
  /** The nearest enclosing branch that is optional as a whole, such as `oauth.presets.google`. */
  optionalBranch?: string
  /** The variables that set it. The first one wins. Each has a form with `_FILE`. */
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

/**
 * Converts the text of a variable or flag to the type of its key: numbers, `true`/`false` (also 1/0), lists
 * comma-separated or as JSON. A text of another form stays as it is, so that validation reports it.
 */
export function fromText(schema: Node, text: string): unknown {
  if (schema.type === 'integer') return /^[+-]?\d+$/.test(text.trim()) ? Number(text) : text
  if (schema.type === 'boolean') return switchWords.get(text.trim().toLowerCase()) ?? text
  if (schema.type === 'array') return listFrom(schema, text)
  // A secret may contain a comma: where a single text is allowed too, a list must be JSON.
  if (schema.anyOf) return jsonList(text) ?? text
  return text
}

/** The reverse of `fromText`. */
export function toText(schema: Node, value: unknown): string {
  if (typeof value !== 'string') return typeof value === 'object' ? JSON.stringify(value) : String(value)
  return schema.anyOf && jsonList(value) ? JSON.stringify([value]) : value
}

const switchWords = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

function listFrom(schema: Node, text: string): unknown {
  if (text.trim().startsWith('[')) return jsonList(text) ?? text
  if (schema.items?.type !== 'string') return text
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

function jsonList(text: string): unknown[] | undefined {
  if (!text.trim().startsWith('[')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
