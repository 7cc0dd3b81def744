import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Logger } from '@parley/telemetry'
import { connectReplica, type Replica } from './replica.ts'

/** Well below the time a stopping replica goes on serving, so that it is left before it closes. */
const lookUpEveryMs = 3_000

export interface Replicas {
  /** All of them, in the order in which one request should try them: round robin, resting and silent ones last. */
  inTurn(): Replica[]
  /** Resolves when every name was looked up once; that is repeated, and each replica asked for a sign of life, from now on. */
  start(): Promise<void>
  close(): Promise<void>
}

export interface ReplicasOptions {
  lookup?: (host: string) => Promise<string[]>
  /** Milliseconds between two look-ups of the names. */
  everyMs?: number
}

const allAddresses = async (host: string) =>
  (await systemLookup(host, { all: true, order: 'ipv4first' })).map(({ address }) => address)

/**
 * The replicas of a service. A URL with a name stands for all addresses of that name, one replica each (a headless Service, a
 * scaled compose service): connections through a virtual address would stay with the replica they first met, and a second
 * attempt might meet the same one again.
 */
export function connectReplicas(
  service: string,
  urls: readonly string[],
  logger: Logger,
  { lookup = allAddresses, everyMs = lookUpEveryMs }: ReplicasOptions = {},
): Replicas {
  const fixed = urls
    .filter((url) => isIP(hostOf(url)))
    .map((url) => connectReplica({ service, origin: new URL(url).origin, logger }))
  const named = new Map(urls.filter((url) => !isIP(hostOf(url))).map((url) => [url, new Map<string, Replica>()]))
  const leaving = new Set<Replica>()
  let replicas = fixed
  let turn = 0
  let timer: NodeJS.Timeout | undefined
  let closed = false

  async function lookUp(url: string, known: Map<string, Replica>) {
    const host = hostOf(url)
    // A name that leads nowhere right now says nothing of the replicas it had: they are asked, and rest when they are gone.
    const addresses = await lookup(host).catch((): string[] => [])
    if (closed || addresses.length === 0) return
    for (const address of addresses) {
      if (known.has(address)) continue
      const replica = connectReplica({ service, origin: originAt(url, address), host, logger })
      known.set(address, replica)
      replica.watch()
    }
    for (const [address, replica] of known) {
      if (addresses.includes(address)) continue
      known.delete(address)
      leaving.add(replica)
      replica.leave().finally(() => leaving.delete(replica))
    }
  }

  async function lookUpAll() {
    await Promise.all([...named].map(([url, known]) => lookUp(url, known)))
    replicas = [...fixed, ...[...named.values()].flatMap((known) => [...known.values()])]
  }

  function again() {
    if (!closed) timer = setTimeout(() => lookUpAll().then(again), everyMs)
  }

  return {
    inTurn() {
      turn = (turn + 1) % Math.max(1, replicas.length)
      const order = [...replicas.slice(turn), ...replicas.slice(0, turn)]
      const { fit = [], unfit = [] } = Object.groupBy(order, (replica) => (replica.isFit() ? 'fit' : 'unfit'))
      return [...fit, ...unfit]
    },
    async start() {
      for (const replica of fixed) replica.watch()
      if (named.size === 0) return
      await lookUpAll()
      again()
    },
    async close() {
      closed = true
      clearTimeout(timer)
      await Promise.all([...replicas, ...leaving].map((replica) => replica.close()))
    },
  }
}

const hostOf = (url: string) => new URL(url).hostname.replace(/^\[|\]$/g, '')

function originAt(url: string, address: string): string {
  const { protocol, port } = new URL(url)
  return `${protocol}//${isIP(address) === 6 ? `[${address}]` : address}${port && `:${port}`}`
}
