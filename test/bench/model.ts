/** Microseconds of processor time by process: `gateway`, `messaging`, `postgres`, `redis` … */
export type Used = Record<string, number>

/** What one action costs, apart from the delivery of its event. */
interface ActionCost {
  processorUs: Used
  /** Events that it makes. */
  events: number
  /** Transactions that PostgreSQL commits. */
  commits: number
  /** Times that PostgreSQL waits for its log to reach the disk. */
  flushes: number
  /** Bytes of its reply. */
  responseBytes: number
}

/** All input of the model. It is measured on the machine on which the bench runs. */
export interface Costs {
  /** By the name of the action. */
  actions: Record<string, ActionCost>
  /** One event written to one stream. */
  delivery: Used
  /** One step of the relay, which carries all events since the step before. */
  step: Used
  /** What a step costs Redis for each further realtime node. */
  furtherNodeUs: number
  /** Per second, whatever happens. */
  idle: Used
  /** Memory of realtime for an open stream. */
  streamBytes: number
  /** An event on the wire. */
  eventBytes: number
}

/** How people behave. */
export interface Behaviour {
  /** Of one person, by the name of the action. */
  perSecond: Record<string, number>
  /**
   * Number of streams that get the event of an action. It does not grow with the number of people, because channels do
   * not grow.
   */
  deliveries: Record<string, number>
}

/** The share of a processor that a process may use on average; the rest is for peaks. */
const busyShare = 0.6
/**
 * Streams that fit into the memory of one realtime node in a usual container, even when its processor could do more.
 */
const streamsPerNode = 20_000
/**
 * Processors of a large PostgreSQL primary as it is commonly offered, and the number of flushes that its disk can do in
 * a second.
 */
const postgresProcessors = 32
const postgresFlushes = 10_000
/** An action that seems to make fewer events makes none: the rest is an error of the measurement. */
const leastEvents = 0.2
/** The relay steps every 16 ms while events come. */
const maxSteps = 1_000 / 16

export interface Prediction {
  people: number
  requestsPerSecond: number
  eventsPerSecond: number
  /** Processors in use. */
  processors: Used
  /** Processes by service; undefined where no number of them is enough. */
  processes: Record<string, number | undefined>
  /** Gateways when streams go past them, straight to realtime. */
  gatewaysWithoutStreams: number | undefined
  commitsPerSecond: number
  flushesPerSecond: number
  /** Megabytes per second to clients. */
  megabytesPerSecond: number
  streamGigabytes: number
  /** For each part that cannot run more than once: the share of its limit that is used, largest first. */
  limits: Limit[]
}

export interface Limit {
  name: string
  share: number
  remedy: string
}

/** What happens in a stretch of time or in a second. */
interface Happening {
  /** By action. */
  counts: Record<string, number>
  /** Events written to streams. */
  deliveries: number
  /** Steps of the relay. */
  steps: number
}

/** The processor time that this uses with one realtime node, in addition to what is used when nothing happens. */
export function usedFor(
  { actions, delivery, step, idle }: Pick<Costs, 'actions' | 'delivery' | 'step' | 'idle'>,
  { counts, deliveries, steps }: Happening,
): Used {
  return Object.fromEntries(
    Object.keys(idle).map((process) => [
      process,
      Object.entries(counts).reduce((sum, [name, count]) => sum + count * actions[name]!.processorUs[process]!, 0) +
        deliveries * delivery[process]! +
        steps * step[process]!,
    ]),
  )
}

/**
 * What happens when people do each action as often as `counts` says. With few events the relay makes one step for each
 * event.
 */
export function followingFrom(
  { actions }: Costs,
  { deliveries }: Behaviour,
  counts: Record<string, number>,
  seconds: number,
): Happening & { events: number } {
  const sum = (of: (name: string) => number) =>
    Object.entries(counts).reduce((total, [name, count]) => total + count * of(name), 0)
  const events = sum((name) => actions[name]!.events)
  return {
    counts,
    events,
    deliveries: sum((name) => deliveries[name] ?? 0),
    steps: Math.min(events, maxSteps * seconds),
  }
}

/** What an organisation with this number of people needs when all of them are connected. */
export function predict(costs: Costs, behaviour: Behaviour, people: number): Prediction {
  const counts = Object.fromEntries(Object.entries(behaviour.perSecond).map(([name, each]) => [name, each * people]))
  const happening = followingFrom(costs, behaviour, counts, 1)
  const { events, deliveries, steps } = happening
  const sum = (of: (cost: ActionCost) => number) =>
    Object.entries(counts).reduce((total, [name, count]) => total + count * of(costs.actions[name]!), 0)

  const [work, idle] = [processorsOf(usedFor(costs, happening)), processorsOf(costs.idle)]
  const [postgres, redisForOneNode] = [work.postgres! + idle.postgres!, work.redis! + idle.redis!]
  // Each realtime node reads every event, so each further node adds work for the nodes together and for Redis.
  const reading =
    (sum(({ events, processorUs }) => (events > leastEvents ? processorUs.realtime! : 0)) +
      steps * costs.step.realtime!) /
    1e6
  const forMemory = Math.ceil(people / streamsPerNode)
  const byProcessor = processesFor(work.realtime! - reading, idle.realtime! + reading)
  const nodes = byProcessor && Math.max(byProcessor, forMemory)
  const redis = redisForOneNode + (((nodes ?? forMemory) - 1) * steps * costs.furtherNodeUs) / 1e6

  const processes: Prediction['processes'] = {}
  const processors: Used = { postgres, redis }
  for (const [name, used] of Object.entries(work)) {
    if (name in processors) continue
    processes[name] = name === 'realtime' ? nodes : processesFor(used, idle[name]!)
    processors[name] = used + (processes[name] ?? 1) * idle[name]!
  }
  processors.realtime! += ((nodes ?? 1) - 1) * reading
  const flushesPerSecond = sum(({ flushes }) => flushes)
  return {
    people,
    requestsPerSecond: sum(() => 1),
    eventsPerSecond: events,
    processors,
    processes,
    gatewaysWithoutStreams: processesFor(work.gateway! - (deliveries * costs.delivery.gateway!) / 1e6, idle.gateway!),
    commitsPerSecond: sum(({ commits }) => commits),
    flushesPerSecond,
    megabytesPerSecond: (sum(({ responseBytes }) => responseBytes) + deliveries * costs.eventBytes) / 1e6,
    streamGigabytes: (people * costs.streamBytes) / 1e9,
    limits: [
      {
        name: 'Redis, one processor',
        share: redis / busyShare,
        remedy: 'fewer, larger realtime nodes, or replicas of Redis for them to read from',
      },
      {
        name: `PostgreSQL, ${postgresProcessors} processors`,
        share: postgres / (postgresProcessors * busyShare),
        remedy: 'read replicas for listings, pages and search',
      },
      {
        name: `PostgreSQL, ${postgresFlushes.toLocaleString('en')} flushes of the log a second`,
        share: flushesPerSecond / postgresFlushes,
        remedy:
          'PostgreSQL shares flushes by itself when many commit at once; then larger batches of sends and read marks',
      },
      {
        name: 'the relay, one worker',
        share: (work.worker! + idle.worker!) / busyShare,
        remedy: 'workers for jobs beside the one that relays; then one relay per shard',
      },
      {
        name: 'a realtime node, reading every event',
        share: (reading + idle.realtime!) / busyShare,
        remedy: 'a stream of events per group of channels, so that a node reads a part of them',
      },
    ].toSorted((a, b) => b.share - a.share),
  }
}

const processorsOf = (used: Used): Used =>
  Object.fromEntries(Object.entries(used).map(([name, us]) => [name, us / 1e6]))

/**
 * Number of processes that are needed for work that they share, when each also has work of its own; undefined when no
 * number is enough.
 */
const processesFor = (work: number, own: number): number | undefined =>
  own < busyShare ? Math.max(1, Math.ceil(work / (busyShare - own))) : undefined

/** For each limit, the number of people with which it is reached, smallest first. */
export function reachOf(costs: Costs, behaviour: Behaviour): { name: string; people: number; remedy: string }[] {
  const shareAt = (people: number, name: string) =>
    predict(costs, behaviour, people).limits.find((limit) => limit.name === name)!.share
  return predict(costs, behaviour, 1)
    .limits.map(({ name, remedy }) => {
      let [below, above] = [1, 1e10]
      while (above / below > 1.01) {
        const middle = Math.sqrt(below * above)
        if (shareAt(middle, name) < 1) below = middle
        else above = middle
      }
      return { name, remedy, people: below }
    })
    .toSorted((a, b) => a.people - b.people)
}
