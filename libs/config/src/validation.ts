import type { TSchema } from 'typebox'
import { Check } from 'typebox/schema'
import { didYouMean, type Faults } from './faults.ts'
import { type ConfigKey, configKeys, type Node } from './keys.ts'
import { isRequired, isTree, type Layer, type Setting } from './layers.ts'

/** Checks every key by its schema and returns the layer of the valid ones. Keys that have a fault already are skipped. */
export function validate(layer: Layer, faults: Faults): Layer {
  const valid: Layer = new Map()
  const faulty = new Set(faults.map(({ key }) => key))
  for (const key of configKeys) {
    const setting = layer.get(key.key)
    if (faulty.has(key.key)) continue
    if (setting) {
      const found = faultsOf(key.schema, setting, key.key)
      if (found.length === 0) valid.set(key.key, setting)
      // Part of an entry may have a fault already, such as a file that cannot be read.
      faults.push(...found.filter((fault) => !faulty.has(fault.key)))
    } else if (isRequired(key, layer)) {
      faults.push({ key: key.key, message: howToSet(key) })
    }
  }
  return valid
}

/** The values that a key accepts, in words: `a whole number from 1 to 65535`. */
export function expectation(schema: Node): string {
  if (schema.expects) return schema.expects
  if (schema.enum) return `one of ${schema.enum.join(', ')}`
  if (schema.type === 'integer') return `a whole number from ${schema.minimum} to ${schema.maximum}`
  if (schema.type === 'boolean') return 'true or false'
  const { minLength: least = 1, maxLength: most } = schema
  if (most) return `a text of ${least} to ${most} characters`
  return least > 1 ? `a text of at least ${least} characters` : 'a text that is not empty'
}

export const howToSet = ({ key, variables }: ConfigKey) =>
  `is required: set ${variables.at(-1)} (or ${variables.at(-1)}_FILE), or ${key} in the configuration file`

function faultsOf(schema: Node, { value, source }: Setting, key: string): Faults {
  const from = source ? ` (${source})` : ''
  if (schema.properties) {
    if (!isTree(value)) return [{ key, message: `must be an object${from}` }]
    return [...unknownIn(schema, value, key, from), ...missingOrWrongIn(schema, { value, source }, key)]
  }
  if (schema.items?.properties && Array.isArray(value)) {
    return value.flatMap((item, index) => faultsOf(schema.items!, { value: item, source }, `${key}[${index}]`))
  }
  if (Check(schema as TSchema, value)) return []
  return [{ key, message: `must be ${expectation(schema)}${from}` }]
}

const unknownIn = (schema: Node, value: object, key: string, from: string): Faults =>
  Object.keys(value)
    .filter((name) => !Object.hasOwn(schema.properties!, name))
    .map((name) => ({
      key: `${key}.${name}`,
      message: `is not a configuration key${from}.${didYouMean(name, Object.keys(schema.properties!))}`,
    }))

const missingOrWrongIn = (schema: Node, { value, source }: Setting, key: string): Faults =>
  Object.entries(schema.properties!).flatMap(([name, property]) => {
    const item = (value as Record<string, unknown>)[name]
    if (item !== undefined) return faultsOf(property, { value: item, source }, `${key}.${name}`)
    if (!schema.required?.includes(name)) return []
    return [{ key: `${key}.${name}`, message: `is required${source ? ` (${source})` : ''}` }]
  })
