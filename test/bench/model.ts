/** What one action costs, measured on a cluster. */
export interface ActionCost {
  /** Microseconds of processor time, by process: `gateway`, `messaging`, `postgres`, `redis` … */
  processorUs: Record<string, number>
  /** Transactions that PostgreSQL commits. */
  commits: number
  /** Bytes of its reply. */
  replyBytes: number
}

/** Everything the model is driven by. All of it is measured, on the machine that the bench runs on. */
export interface Costs {
  /** By the name of the action. */
  actions: Record<string, ActionCost>
  /** Microseconds that realtime uses to deliver an event to one more stream. */
  deliveryUs: number
  /** Microseconds that one more realtime node costs per event: of that node, and of Redis. */
  nodeUs: { realtime: number; redis: number }
  /** Memory of realtime for an open stream. */
  streamBytes: number
  /** An event on the wire. */
  eventBytes: number
  /** Microseconds per second that each process uses while nobody does anything. */
  idleUs: Record<string, number>
}

/** How people behave. */
export interface Behaviour {
  /** Of one person, by the name of the action. */
  perSecond: Record<string, number>
  /** Actions that make an event, each with the streams that it reaches. They stay the same when more people come: so do their channels. */
  deliveries: Record<string, number>
}

/** A process has work for this share of a processor; the rest is for peaks. */
export const busyShare = 0.6
/** Streams that one realtime node carries, whatever its processor could do: the memory of a usual container. */
const streamsPerNode = 20_000
/** Processors of the largest PostgreSQL primary that is usual, and commits per second that it can flush. */
const postgresProcessors = 32
const postgresCommits = 20_000

export interface Prediction {
  people: number
  requestsPerSecond: number
  eventsPerSecond: number
  /** Processes by service; PostgreSQL and Redis in processors. */
  processes: Record<string, number>
  commitsPerSecond: number
  /** Megabytes per second to clients. */
  megabytesPerSecond: number
  streamGigabytes: number
  /** How much of its limit each part that cannot be multiplied uses, largest first. */
  limits: { name: string; share: number; remedy: string }[]
}

/** What an organisation of so many people needs, all of them connected. */
export function predict(costs: Costs, { perSecond, deliveries }: Behaviour, people: number): Prediction {
  const rates = Object.entries(perSecond).map(([name, each]) => ({ name, rate: each * people }))
  const sum = (of: (name: string) => number) => rates.reduce((total, { name, rate }) => total + rate * of(name), 0)
  const names = new Set(Object.values(costs.actions).flatMap(({ processorUs }) => Object.keys(processorUs)))
  const processors = new Map(
    [...names].map((name) => [name, sum((action) => costs.actions[action]?.processorUs[name] ?? 0) / 1e6]),
  )
  const eventsPerSecond = sum((name) => (deliveries[name] === undefined ? 0 : 1))
  const deliveriesPerSecond = sum((name) => deliveries[name] ?? 0)

  // Each realtime node reads every event, so adding nodes adds work for them and for Redis.
  const nodeLoad = (eventsPerSecond * costs.nodeUs.realtime) / 1e6
  const deliveryLoad = (deliveriesPerSecond * costs.deliveryUs) / 1e6
  const byProcessor = nodeLoad < busyShare ? Math.ceil(deliveryLoad / (busyShare - nodeLoad)) : Number.POSITIVE_INFINITY
  const nodes = Math.max(1, byProcessor, Math.ceil(people / streamsPerNode))
  const redis = (processors.get('redis') ?? 0) + ((nodes - 1) * eventsPerSecond * costs.nodeUs.redis) / 1e6
  const postgres = processors.get('postgres') ?? 0
  const commitsPerSecond = sum((name) => costs.actions[name]?.commits ?? 0)

  const processes: Record<string, number> = {}
  for (const [name, used] of processors) {
    if (name === 'postgres' || name === 'redis' || name === 'realtime' || used < 0.001) continue
    processes[name] = Math.max(1, Math.ceil(used / busyShare))
  }
  return {
    people,
    requestsPerSecond: sum(() => 1),
    eventsPerSecond,
    processes: { ...processes, realtime: nodes, postgres, redis },
    commitsPerSecond,
    megabytesPerSecond:
      (sum((name) => costs.actions[name]?.replyBytes ?? 0) + deliveriesPerSecond * costs.eventBytes) / 1e6,
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
        remedy: 'read replicas for listings and search',
      },
      {
        name: `PostgreSQL, ${postgresCommits.toLocaleString('en')} commits a second`,
        share: commitsPerSecond / postgresCommits,
        remedy: 'larger batches of sends and read marks',
      },
      {
        name: 'the relay, one worker',
        share: (processors.get('worker') ?? 0) / busyShare,
        remedy: 'workers for jobs beside the one that relays',
      },
      {
        name: 'one realtime node reading every event',
        share: nodeLoad / busyShare,
        remedy: 'a stream of events per group of channels',
      },
    ].toSorted((a, b) => b.share - a.share),
  }
}
