import { parseJson } from '@parley/client'

/**
 * Reads a JSON value of `localStorage`. Undefined when there is none, or when the text is no JSON: another program of this origin or the
 * person may have written it, and the page must start nevertheless. Callers check the form of the value.
 */
export function readStoredValue(key: string): unknown {
  const text = localStorage.getItem(key)
  return text === null ? undefined : parseJson(text)
}

/** The properties of a stored value. Empty when it is not an object. */
export const propertiesOf = (value: unknown): Partial<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
