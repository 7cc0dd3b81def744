/** Who waits for a turn, and in which lane. */
export interface Turn {
  /** Lanes get turns alternately, so a full lane does not hold up another one. */
  lane: string
  /** Within a lane the clients get turns alternately, so one client's many requests do not hold up another client. */
  client: string
}

export interface FairQueueOptions {
  /** Pieces of work at once. */
  atOnce: number
  /** Requests that may wait in one lane. */
  waiting: number
}

interface Waiting {
  begin(): void
  refuse(error: Error): void
}

/** The request cannot wait: its lane is full. */
export class QueueFull extends Error {
  override readonly name = 'QueueFull'

  constructor() {
    super('too many requests wait in this lane')
  }
}

/**
 * Runs a few pieces of work at once; the others wait. Turns go round the lanes, and in a lane round its clients. When a lane is full,
 * the client with the most waiting requests gives up its newest one, so a client with few requests always finds a place.
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
      // The place is handed on, so that nobody who comes just now takes it first.
      const next = takeNext()
      if (next) next.begin()
      else running--
    }
  }

  function placeIn({ lane, client }: Turn): Promise<void> {
    const clients = lanes.get(lane) ?? new Map<string, Waiting[]>()
    lanes.set(lane, clients)
    const own = clients.get(client) ?? []
    if (lengthOf(clients) >= waiting) {
      const longest = [...clients.values()].reduce((one, other) => (other.length > one.length ? other : one), own)
      if (longest.length <= own.length + 1) throw new QueueFull()
      longest.pop()!.refuse(new QueueFull())
    }
    clients.set(client, own)
    return new Promise((begin, refuse) => own.push({ begin, refuse }))
  }

  /** Whoever had a turn goes to the end of the round: maps keep the order in which keys were added. */
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

const lengthOf = (clients: Map<string, Waiting[]>) =>
  clients.values().reduce((sum, requests) => sum + requests.length, 0)
