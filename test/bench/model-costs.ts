import { fitCosts } from './least-squares.ts'
import type { LivingCluster, Stretch } from './living-cluster.ts'
import type { Costs, Used } from './model.ts'
import type { Action } from './open-loop.ts'

/** In half of the stretches an action is done this many times a second more than people do it. */
const addedPerSecond = 40
/** Expensive actions are added less often. */
const addedRates: Partial<Record<string, number>> = {
  'come back after a lost connection': 10,
  'list people': 20,
  'search messages': 8,
}
/** Posts to all streams: they tell what it costs to write an event to one stream. */
const toEverybodyPerSecond = 4
/**
 * Posts in quick succession: they separate what the relay does for each of its steps from what it does for each event.
 */
const floodPerSecond = 150
/** Half the number of stretches. The number of causes must be smaller, or their costs cannot be told apart. */
const patterns = 16
/** A stretch is this many times as long as one side of the other parts. */
const longer = 2

/** Processes that do work for an event written to a stream (`deliverers`), and for a step of the relay (`relayers`). */
const deliverers = ['realtime', 'gateway']
const relayers = ['worker', 'realtime', 'postgres', 'redis']

export type MeasuredCosts = Omit<Costs, 'furtherNodeUs' | 'streamBytes'>

/**
 * Lets people act in stretches of time. In each stretch a different half of the actions is done more often. The costs
 * of the actions are then those that explain the processor time of all stretches best. In this way every action is
 * measured while all others run: a busy process wakes up less often for a single action, and when the machine is slower
 * for a while, that affects all actions alike.
 */
export async function measureCosts(cluster: LivingCluster, channelId: string, seconds: number) {
  const causes: Action[] = [
    ...cluster.actions.map((action) => ({ ...action, perSecond: addedRates[action.name] ?? addedPerSecond })),
    cluster.postTo(channelId, toEverybodyPerSecond),
    cluster.postToOne(floodPerSecond),
  ]
  await cluster.live([...cluster.actions, ...causes], seconds)
  const stretches: Stretch[] = []
  for (const pattern of shuffled(Array.from({ length: 2 * patterns }, (_, index) => index))) {
    const added = causes.filter((_, index) => isAdded(pattern, index + 1))
    stretches.push(await cluster.live([...cluster.actions, ...added], seconds * longer))
    process.stderr.write(`  ${stretches.length} of ${2 * patterns} stretches are measured\n`)
  }
  return { costs: costsOf(stretches), stretches }
}

/**
 * The rows of a Hadamard matrix and their opposites: any two causes are added together in half of the stretches, and
 * only one of the two in the other half.
 */
const isAdded = (pattern: number, cause: number) =>
  (ones((pattern % patterns) & cause) % 2 === 1) !== pattern >= patterns

const ones = (bits: number) => bits.toString(2).replaceAll('0', '').length

function costsOf(stretches: readonly Stretch[]): MeasuredCosts {
  const names = Object.keys(stretches[0]!.counts)
  const processes = Object.keys(stretches[0]!.used)
  const sum = (of: (stretch: Stretch) => number) => stretches.reduce((total, stretch) => total + of(stretch), 0)
  const causesOf = (stretch: Stretch) => [...names.map((name) => stretch.counts[name]!), stretch.seconds]

  // The upkeep of PostgreSQL comes in bursts, for what many earlier actions have written. So it is not fitted: each
  // action gets a share of it in proportion to its other costs.
  const postgres = sum(({ used }) => used.postgres!)
  const withUpkeep = postgres / (postgres - sum(({ upkeepUs }) => upkeepUs))
  const usedBy = (process: string, { used, upkeepUs }: Stretch) =>
    process === 'postgres' ? (used.postgres! - upkeepUs) * withUpkeep : used[process]!

  const fitted = processes.map((process): [string, number[]] => {
    const causes = stretches.map((stretch) => [
      ...causesOf(stretch),
      deliverers.includes(process) ? stretch.deliveries : 0,
      relayers.includes(process) ? stretch.steps : 0,
    ])
    return [
      process,
      fitCosts(
        causes,
        stretches.map((stretch) => usedBy(process, stretch)),
      ),
    ]
  })
  const processorUs = (index: number): Used =>
    Object.fromEntries(fitted.map(([process, costs]) => [process, costs[index]!]))
  const [events, commits, flushes] = (['events', 'commits', 'flushes'] as const).map((counted) =>
    fitCosts(
      stretches.map(causesOf),
      stretches.map((stretch) => stretch[counted]),
    ),
  )
  return {
    actions: Object.fromEntries(
      names.map((name, index) => [
        name,
        {
          processorUs: processorUs(index),
          events: events![index]!,
          commits: commits![index]!,
          flushes: flushes![index]!,
          responseBytes: sum(({ responseBytes }) => responseBytes[name] ?? 0) / sum(({ counts }) => counts[name]!),
        },
      ]),
    ),
    idle: processorUs(names.length),
    delivery: processorUs(names.length + 1),
    step: processorUs(names.length + 2),
    eventBytes: sum(({ streamBytes }) => streamBytes) / sum(({ deliveries }) => deliveries),
  }
}

function shuffled<Item>(items: Item[]): Item[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item)
}
