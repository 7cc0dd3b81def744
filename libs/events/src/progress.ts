/** Ids from `first` to `last`, both included. */
export interface Range {
  first: number
  last: number
}

/** Every id up to `id` has a position or will never exist. Ids above it can only have positions above `pos`. */
export interface LowWater {
  id: number
  pos: number
}

/** What a step of the relay has seen. */
export interface SeenStep {
  /** The outbox ids to which this step assigned positions, ascending. */
  ids: readonly number[]
  /** The last position assigned so far. */
  pos: number
  /** Number of the step's own transaction when it wrote something. */
  xid: number | null
  /** All transactions below this number were finished at the time of the step. */
  xmin: number
  /** Whether the step left rows for the next one, because of its limit. */
  isPartial: boolean
}

export interface Progress {
  readonly low: LowWater
  /** The highest id that has a position. */
  readonly high: number
  /** Ids below `high` without a position, ascending. Their transactions are running or were rolled back. */
  readonly holes: readonly Range[]
  /** Applies the result of a step. */
  advance(step: SeenStep): void
}

/**
 * Tracks which outbox ids may still appear, by transaction numbers instead of time. A transaction has its number before
 * it takes an id. So when a step of transaction X saw the id V, every transaction that took an id up to V has a number
 * below X. When a later step finds that all transactions below X are finished, it has seen every id up to V that will
 * ever exist. A long write transaction delays only `low` and keeps its own few holes.
 */
export function createProgress(start: LowWater, positioned: readonly number[]): Progress {
  let low = start
  let high = start.id
  let holes: Range[] = []
  let mark: { water: LowWater; xid: number } | undefined

  const take = (ids: readonly number[]) => {
    const firstNew = ids.findIndex((id) => id > high)
    const late = firstNew < 0 ? ids : ids.slice(0, firstNew)
    if (late.length > 0) holes = withoutIds(holes, late)
    for (const id of firstNew < 0 ? [] : ids.slice(firstNew)) {
      if (id > high + 1) holes.push({ first: high + 1, last: id - 1 })
      high = id
    }
  }

  take(positioned.filter((id) => id > start.id).toSorted((a, b) => a - b))

  return {
    get low() {
      return low
    },
    get high() {
      return high
    },
    get holes() {
      return holes
    },
    advance({ ids, pos, xid, xmin, isPartial }) {
      take(ids)
      if (mark && !isPartial && xmin >= mark.xid) {
        low = mark.water
        holes = holesAbove(holes, low.id)
        mark = undefined
      }
      if (!mark && xid !== null && high > low.id) mark = { water: { id: high, pos }, xid }
    },
  }
}

function withoutIds(holes: readonly Range[], ids: readonly number[]): Range[] {
  const left: Range[] = []
  let next = 0
  for (const hole of holes) {
    let { first } = hole
    for (; next < ids.length && ids[next]! <= hole.last; next++) {
      const id = ids[next]!
      if (id > first) left.push({ first, last: id - 1 })
      first = id + 1
    }
    if (first <= hole.last) left.push({ first, last: hole.last })
  }
  return left
}

const holesAbove = (holes: readonly Range[], id: number) =>
  holes.filter(({ last }) => last > id).map(({ first, last }) => ({ first: Math.max(first, id + 1), last }))
