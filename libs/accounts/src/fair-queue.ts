/** The lane and the client for which work waits. */
interface Turn {
  /** Lanes take turns, so a full lane does not delay another one. */
  lane: string
  /** Within a lane the clients take turns, so many requests of one client do not delay another client. */
  client: string
}

interface FairQueueOptions {
  /** Pieces of work that run at the same time. */
  atOnce: number
  /** Requests that may wait in one lane. */
  waiting: number
}

interface Waiting {
  begin(): void
  refuse(error: Error): void
}

/** The work cannot wait, because its lane is full. */
export class QueueFull extends Error {
  override readonly name = 'QueueFull'

  constructor() {
    super('too many requests wait in this lane')
  }
}

/**
 * Runs a few pieces of work at the same time, while the others wait. The lanes take turns, and so do the clients within
 * a lane (round robin). When a lane is full, the newest request of the client with the most waiting requests is
 * refused, so there is always room for a client with few requests.
 */
export function createFairQueue({ atOnce, waiting }: FairQueueOptions) {
  const lanes = new Map<string, Map<string, Waiting[]>>()
  let running = 0

  /** @throws QueueFull when the work cannot wait for its turn. */
  async function run<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
    if (running < atOnce) running++
    else await placeIn(turn)
    try {
      return await work()
    } finally {
      // The slot goes directly to the next waiting request, so that a new request cannot take it.
      const next = takeNext()
      if (next) next.begin()
      else running--
    }
  }

  function placeIn({ lane, client }: Turn): Promise<void> {
    const clients = lanes.get(lane) ?? new Map<string, Waiting[]>()
    lanes.set(lane, clients)
    const own = clients.get(client) ?? []
    if (countWaiting(clients) >= waiting) {
      const longest = [...clients.values()].reduce((one, other) => (other.length > one.length ? other : one), own)
      if (longest.length <= own.length + 1) throw new QueueFull()
      longest.pop()!.refuse(new QueueFull())
    }
    clients.set(client, own)
    return new Promise((begin, refuse) => own.push({ begin, refuse }))
  }

  /** The lane and the client that had a turn move to the end of the order. Maps keep the order in which keys were added. */
  function takeNext(): Waiting | undefined {
    for (const [lane, clients] of lanes) {
      for (const [client, own] of clients) {
        const next = own.shift()
        clients.delete(client)
        if (own.length > 0) clients.set(client, own)
        lanes.delete(lane)
        if (clients.size > 0) lanes.set(lane, clients)
        return next
      }
    }
    return undefined
  }

  return { run }
}

const countWaiting = (clients: Map<string, Waiting[]>) =>
  clients.values().reduce((sum, requests) => sum + requests.length, 0)
