import { eventPayloads } from '@parley/contract'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'

interface Schema {
  properties?: Record<string, Schema>
  items?: Schema
  additionalProperties?: unknown
}

const checks = new Map<string, ReturnType<typeof Compile>>()

/**
 * Checks an event. @throws when its type is unknown, or its payload differs from the contract: a field is missing, has
 * another type, or is unknown.
 */
export function requireContract({ type, payload }: { type: string; payload: unknown }): void {
  const schema = eventPayloads[type as keyof typeof eventPayloads] as TSchema | undefined
  if (!schema) throw new Error(`the contract has no event ${type}`)
  const check = checks.get(type) ?? Compile(strict(JSON.parse(JSON.stringify(schema))) as TSchema)
  checks.set(type, check)
  if (check.Check(payload)) return
  const faults = check.Errors(payload).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`)
  throw new Error(`${type} differs from the contract: ${faults.join(', ')}: ${JSON.stringify(payload)}`)
}

function strict(schema: Schema): Schema {
  const { properties, items } = schema
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, strict(each)])),
      additionalProperties: schema.additionalProperties ?? false,
    }),
    ...(items && { items: strict(items) }),
  }
}
