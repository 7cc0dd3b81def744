import type { Node } from './keys.ts'

/**
 * Reads a variable or flag in the form its key wants: numbers, `true`/`false` (also 1/0), lists comma-separated or as
 * JSON. What does not fit stays the text it is, so that validation names the fault.
 */
export function fromText(schema: Node, text: string): unknown {
  if (schema.type === 'integer') return /^[+-]?\d+$/.test(text.trim()) ? Number(text) : text
  if (schema.type === 'boolean') return SWITCHES.get(text.trim().toLowerCase()) ?? text
  if (schema.type === 'array') return listFrom(schema, text)
  // A secret may contain a comma: where one text is allowed as well, only JSON makes a list.
  if (schema.anyOf) return jsonList(text) ?? text
  return text
}

/** The reverse: a value as the text that `fromText` reads back. */
export function toText(schema: Node, value: unknown): string {
  if (typeof value !== 'string') return typeof value === 'object' ? JSON.stringify(value) : String(value)
  return schema.anyOf && jsonList(value) ? JSON.stringify([value]) : value
}

const SWITCHES = new Map([
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
