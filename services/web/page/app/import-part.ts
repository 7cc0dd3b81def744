declare global {
  /** The build puts a call of this function around every `import()` of the page: see `retriedImports` in `src/vite-config.ts`. */
  var parleyImport: typeof importPart
}

/** How often a part could not be loaded, by its address. */
const failures = new Map<string, number>()

/**
 * Loads a part of the page. After a failure, the next call tries again at an address with a query, because Firefox remembers that an
 * address could not be loaded, and does not request it again before a reload of the page.
 */
export function importPart(address: string, load: () => Promise<unknown>): Promise<unknown> {
  const failed = failures.get(address) ?? 0
  const part = failed === 0 ? load() : import(/* @vite-ignore */ `${address}?${failed}`)
  part.catch(() => failures.set(address, failed + 1))
  return part
}
