/** Reads again until `version` is the same before and after. The value is then valid at this moment. */
export async function readUnchanged<Value>(version: () => string, read: () => Promise<Value>): Promise<Value> {
  for (;;) {
    const before = version()
    const value = await read()
    if (version() === before) return value
  }
}
