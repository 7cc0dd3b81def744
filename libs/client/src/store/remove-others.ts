/** Removes the items that are not in a complete listing any more. */
export function removeOthers(kept: Iterable<string>, listing: readonly { id: string }[], remove: (id: string) => void) {
  const ids = new Set(listing.map(({ id }) => id))
  for (const id of [...kept]) if (!ids.has(id)) remove(id)
}
