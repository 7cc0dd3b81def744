export type SortedList<T> = ReturnType<typeof createSortedList<T>>

/**
 * A list that stays sorted. Items are found by binary search. The arrays of ids and items are built again only after a
 * change. `compare` never returns 0 for different items.
 */
export function createSortedList<T>(compare: (one: T, next: T) => number) {
  const byId = new Map<string, T>()
  const order: { id: string; item: T }[] = []
  let ids: readonly string[] | undefined
  let items: readonly T[] | undefined

  /** The index of the item, or where it belongs. */
  const indexOf = (item: T) => firstIndex(order, (each) => compare(each.item, item) >= 0)

  function remove(id: string): boolean {
    const known = byId.get(id)
    if (known === undefined) return false
    order.splice(indexOf(known), 1)
    byId.delete(id)
    ids = undefined
    items = undefined
    return true
  }

  return {
    get: (id: string) => byId.get(id),
    /** Adds or replaces an item. Returns whether the order of the ids has changed. */
    set(id: string, item: T): boolean {
      const known = byId.get(id)
      const keepsPlace = known !== undefined && compare(known, item) === 0
      if (!keepsPlace) {
        remove(id)
        ids = undefined
      }
      order.splice(indexOf(item), keepsPlace ? 1 : 0, { id, item })
      byId.set(id, item)
      items = undefined
      return !keepsPlace
    },
    /** Returns whether the item was there. */
    remove,
    /** The same array until the order changes. */
    ids: (): readonly string[] => {
      ids ??= order.map(({ id }) => id)
      return ids
    },
    /** The same array until an item changes. */
    items: (): readonly T[] => {
      items ??= order.map(({ item }) => item)
      return items
    },
  }
}

/**
 * The index of the first item for which `reached` is true, or the length. `reached` must be true for all later items
 * too.
 */
export function firstIndex<Item>(items: readonly Item[], reached: (item: Item) => boolean): number {
  let [from, to] = [0, items.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (reached(items[middle]!)) to = middle
    else from = middle + 1
  }
  return from
}
