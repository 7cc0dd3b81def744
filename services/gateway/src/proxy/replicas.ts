import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Logger } from '@parley/telemetry'
import type { HealthCheckTimes } from './health-check.ts'
import { connectReplica, type Replica } from './replica.ts'

/** Much shorter than the time for which a stopping replica still serves, so that it gets no requests any more when it closes. */
const lookUpIntervalMs = 3_000

export interface Replicas {
  /** All replicas, in the order in which a request should try them: round robin, unhealthy ones last. */
  candidates(): Replica[]
  /** Starts look-ups and health checks. Resolves when every name was looked up once. */
  start(): Promise<void>
  close(): Promise<void>
}

export interface ReplicasOptions {
  lookup?: (host: string) => Promise<string[]>
  /** Milliseconds between two look-ups of the names. */
  intervalMs?: number
  /** Interval and time limit of the health checks. */
  healthChecks?: HealthCheckTimes
}

const allAddresses = async (host: string) =>
  (await systemLookup(host, { all: true, order: 'ipv4first' })).map(({ address }) => address)

/**
 * Connects to the replicas of a service. A URL with a host name stands for all addresses of that name, one replica each
 * (a headless Service, a scaled compose service). Behind a virtual address, a connection would stay with the replica
 * that it first reached, and a repeated request might reach the same one again.
 */
export function connectReplicas(
  service: string,
  urls: readonly string[],
  logger: Logger,
  { lookup = allAddresses, intervalMs = lookUpIntervalMs, healthChecks }: ReplicasOptions = {},
): Replicas {
  const fixed = urls
    .filter((url) => isIP(hostOf(url)))
    .map((url) => connectReplica({ service, origin: new URL(url).origin, logger, healthChecks }))
  const named = new Map(urls.filter((url) => !isIP(hostOf(url))).map((url) => [url, new Map<string, Replica>()]))
  const draining = new Set<Replica>()
  let replicas = fixed
  let turn = 0
  let timer: NodeJS.Timeout | undefined
  let closed = false

  async function lookUp(url: string, known: Map<string, Replica>) {
    const host = hostOf(url)
    // After a failed look-up the known replicas are kept. Health checks show whether they still exist.
    const addresses = await lookup(host).catch((): string[] => [])
    if (closed || addresses.length === 0) return
    for (const address of addresses) {
      if (known.has(address)) continue
      const replica = connectReplica({ service, origin: originAt(url, address), host, logger, healthChecks })
      known.set(address, replica)
      replica.startHealthChecks()
    }
    for (const [address, replica] of known) {
      if (addresses.includes(address)) continue
      known.delete(address)
      draining.add(replica)
      replica.drain().finally(() => draining.delete(replica))
    }
  }

  async function lookUpAll() {
    await Promise.all([...named].map(([url, known]) => lookUp(url, known)))
    replicas = [...fixed, ...[...named.values()].flatMap((known) => [...known.values()])]
  }

  function scheduleNext() {
    if (!closed) timer = setTimeout(() => lookUpAll().then(scheduleNext), intervalMs)
  }

  return {
    candidates() {
      turn = (turn + 1) % Math.max(1, replicas.length)
      const order = [...replicas.slice(turn), ...replicas.slice(0, turn)]
      const { healthy = [], unhealthy = [] } = Object.groupBy(order, (replica) =>
        replica.isHealthy() ? 'healthy' : 'unhealthy',
      )
      return [...healthy, ...unhealthy]
    },
    async start() {
      for (const replica of fixed) replica.startHealthChecks()
      if (named.size === 0) return
      await lookUpAll()
      scheduleNext()
    },
    async close() {
      closed = true
      clearTimeout(timer)
      await Promise.all([...replicas, ...draining].map((replica) => replica.close()))
    },
  }
}

const hostOf = (url: string) => new URL(url).hostname.replace(/^\[|\]$/g, '')

function originAt(url: string, address: string): string {
  const { protocol, port } = new URL(url)
  return `${protocol}//${isIP(address) === 6 ? `[${address}]` : address}${port && `:${port}`}`
}
