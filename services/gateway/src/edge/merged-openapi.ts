/** As much of an OpenAPI document as merging needs to know. */
export interface OpenApi {
  paths?: Record<string, object>
  components?: Record<string, object>
}

/** One document of several with disjoint paths or methods; what else they say they say alike. */
export function mergeDescriptions(documents: readonly OpenApi[]): OpenApi {
  const merged: OpenApi = { ...documents[0] }
  merged.paths = mergeInto(
    {},
    documents.map(({ paths = {} }) => paths),
  )
  merged.components = mergeInto(
    {},
    documents.map(({ components = {} }) => components),
  )
  return merged
}

function mergeInto(target: Record<string, object>, sources: readonly Record<string, object>[]) {
  for (const source of sources) {
    for (const [name, value] of Object.entries(source)) target[name] = { ...target[name], ...value }
  }
  return target
}
