/** Reads again until `version` is the same after the read as before it: what was read then holds at this very moment. */
export async function readUnchanged<Value>(version: () => string, read: () => Promise<Value>): Promise<Value> {
  for (;;) {
    const before = version()
    const value = await read()
    if (version() === before) return value
  }
}
