export interface AttributeQuery {
  attributes?: unknown
  excludedAttributes?: unknown
}

/** The parts of a resource that a request asks for (RFC 7644, 3.9). `schemas` and `id` are always included. */
export function selectAttributes<Resource extends object>(resource: Resource, query: AttributeQuery): object {
  const wanted = namesIn(query.attributes)
  const unwanted = namesIn(query.excludedAttributes)
  if (!wanted && !unwanted) return resource
  return Object.fromEntries(
    Object.entries(resource).flatMap(([name, value]) => {
      const key = name.toLowerCase()
      if (key === 'id' || key === 'schemas') return [[name, value]]
      if (wanted ? wanted.has(key) : !unwanted!.has(key))
        return [[name, wanted ? value : without(value, key, unwanted!)]]
      const parts =
        wanted && [...wanted].filter((each) => each.startsWith(`${key}.`)).map((each) => each.slice(key.length + 1))
      return parts && parts.length > 0 ? [[name, only(value, parts)]] : []
    }),
  )
}

/** Whether a request asks for an attribute or a part of it. The caller does not read an attribute that is not asked for. */
export function isAskedFor(name: string, query: AttributeQuery): boolean {
  const [wanted, unwanted] = [namesIn(query.attributes), namesIn(query.excludedAttributes)]
  return wanted ? [...wanted].some((each) => each === name || each.startsWith(`${name}.`)) : !unwanted?.has(name)
}

const only = (value: unknown, parts: readonly string[]) => pick(value, (part) => parts.includes(part))
const without = (value: unknown, key: string, unwanted: ReadonlySet<string>) =>
  pick(value, (part) => !unwanted.has(`${key}.${part}`))

function pick(value: unknown, isKept: (part: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((each) => pick(each, isKept))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).filter(([part]) => isKept(part.toLowerCase())))
}

function namesIn(text: unknown): Set<string> | undefined {
  if (typeof text !== 'string' || text.trim() === '') return undefined
  return new Set(
    text.split(',').map((name) =>
      name
        .trim()
        .replace(/^urn:.*:/i, '')
        .toLowerCase(),
    ),
  )
}
