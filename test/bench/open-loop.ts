import { setTimeout as delay } from 'node:timers/promises'
import { percentile } from './statistics.ts'

/** Something that people do. */
export interface Action {
  name: string
  /** The rate of all people together. */
  perSecond: number
  /** Does it once, as a person that the action itself chooses. */
  act: () => Promise<void>
}

/** How long an action took, from the moment at which it was due (not from its start, which can be late). */
export interface Taken {
  count: number
  meanMs: number
  p50Ms: number
  p99Ms: number
  maxMs: number
}

const tickMs = 2

/**
 * Lets people act for some seconds, each action at random times, as independent people do. An action starts when it is
 * due, even if earlier ones are still unanswered, so a slow server does not slow down its own load. A late start counts
 * as waiting time. Resolves when the last answer is there.
 * @throws the first failure of an action.
 */
export async function liveThrough(actions: readonly Action[], seconds: number): Promise<Map<string, Taken>> {
  const begun = performance.now()
  const end = begun + seconds * 1_000
  const plans = actions.map((action) => ({ action, next: begun + waitMs(action), taken: [] as number[] }))
  const underWay = new Set<Promise<void>>()
  let failure: unknown
  for (let now = begun; now < end && failure === undefined; now = performance.now()) {
    for (const plan of plans) {
      for (; plan.next <= now; plan.next += waitMs(plan.action)) {
        const wantedAt = plan.next
        const one = plan.action
          .act()
          .then(
            () => void plan.taken.push(performance.now() - wantedAt),
            (error) => {
              failure ??= error
            },
          )
          .finally(() => underWay.delete(one))
        underWay.add(one)
      }
    }
    await delay(tickMs)
  }
  await Promise.all(underWay)
  if (failure !== undefined) throw failure
  return new Map(plans.map(({ action, taken }) => [action.name, summaryOf(taken)]))
}

/** Time until the next action when actions come independently of each other (exponential distribution). */
const waitMs = ({ perSecond }: Action) => (-Math.log(1 - Math.random()) * 1_000) / perSecond

function summaryOf(taken: number[]): Taken {
  const sorted = taken.toSorted((a, b) => a - b)
  return {
    count: sorted.length,
    meanMs: sorted.reduce((sum, ms) => sum + ms, 0) / sorted.length,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    maxMs: sorted.at(-1) ?? Number.NaN,
  }
}
