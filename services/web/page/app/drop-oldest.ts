/** Removes the oldest entry of a map that has more than `most` entries. Returns it. */
export function dropOldest<Key, Value>(map: Map<Key, Value>, most: number): [Key, Value] | undefined {
  const [oldest] = map
  if (map.size <= most || !oldest) return undefined
  map.delete(oldest[0])
  return oldest
}
