import { fitCosts } from './least-squares.ts'
import type { LivingCluster, Stretch } from './living-cluster.ts'
import type { Costs, Used } from './model.ts'
import type { Action } from './open-loop.ts'

/** In half of the stretches an action is done so many times a second beyond what people do. */
const addedPerSecond = 40
/** What costs much is added less often. */
const addedRates: Partial<Record<string, number>> = {
  'come back after a lost connection': 10,
  'list people': 20,
  'search messages': 8,
}
/** Posts to everybody at once: what it costs to write an event to one stream. */
const toEverybodyPerSecond = 4
/** Posts in quick succession: what the relay does for each of its steps, and what for each event. */
const floodPerSecond = 150
/** Half of the stretches. Fewer causes than these can be told apart. */
const patterns = 16
/** A stretch is so many times as long as a side of other parts. */
const longer = 2

/** Who has work with an event that is written to a stream, and with a step of the relay. */
const deliverers = ['realtime', 'gateway']
const relayers = ['worker', 'realtime', 'postgres', 'redis']

export type MeasuredCosts = Omit<Costs, 'furtherNodeUs' | 'streamBytes'>

/**
 * Lets people act in stretches of time. In each of them another half of the actions is done more often. What each action costs is what
 * explains the processor time of all stretches best: so it is measured beside everything else, as a process that is busy wakes up less
 * often for one action, and a machine that is slower for a while is slower for all of them.
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

/** The rows of a Hadamard matrix and their opposites: any two causes are added together as often as one without the other. */
const isAdded = (pattern: number, cause: number) =>
  (ones((pattern % patterns) & cause) % 2 === 1) !== pattern >= patterns

const ones = (bits: number) => bits.toString(2).replaceAll('0', '').length

function costsOf(stretches: readonly Stretch[]): MeasuredCosts {
  const names = Object.keys(stretches[0]!.counts)
  const processes = Object.keys(stretches[0]!.used)
  const sum = (of: (stretch: Stretch) => number) => stretches.reduce((total, stretch) => total + of(stretch), 0)
  const causesOf = (stretch: Stretch) => [...names.map((name) => stretch.counts[name]!), stretch.seconds]

  // The upkeep of PostgreSQL comes in bursts, for what many actions have written before. Each action bears its share.
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
          replyBytes: sum(({ replyBytes }) => replyBytes[name] ?? 0) / sum(({ counts }) => counts[name]!),
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
