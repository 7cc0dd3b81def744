import type { Config } from '@parley/config'
import { Cluster, Redis, type RedisOptions } from 'ioredis'

/** The settings `redis` of the configuration; one of the ways to an address suffices. */
export type RedisSettings = Partial<Config['redis']>

export interface RedisClientOptions
  extends Pick<
    RedisOptions,
    | 'enableOfflineQueue'
    | 'autoResendUnfulfilledCommands'
    | 'autoResubscribe'
    | 'connectTimeout'
    | 'commandTimeout'
    | 'maxRetriesPerRequest'
  > {
  /** Shown in CLIENT LIST, for the operator. */
  connectionName: string
  /** Milliseconds until the next try to reach Redis. */
  retryStrategy(tries: number): number
}

/**
 * Opens a client for whatever `redis` of the configuration names: one Redis, the master that Sentinels know, or a cluster. A
 * cluster is returned as a `Redis`: it has the same commands and events. Only publishing and subscribing differ; use
 * `publish` and `followChannel`.
 */
export function openRedis(settings: RedisSettings, options: RedisClientOptions): Redis {
  if (settings.clusterNodes?.length) return openCluster(settings, options) as unknown as Redis
  const { username, password } = settings
  // After a failover this connection leads to the old master, now a replica. A new connection finds the new master.
  const shared = { ...options, reconnectOnError: ({ message }: Error) => message.startsWith('READONLY') }
  if (!settings.sentinels?.length) {
    const { url = '' } = settings
    // The URL wins, but it cannot name the authority to trust.
    const access = credentials({ username, password }, url)
    return new Redis(url, { ...shared, ...access, ...(isSecure(url) ? { tls: tlsOf(settings) } : {}) })
  }
  const secure = settings.tls?.enabled ?? false
  return new Redis({
    ...shared,
    username,
    password,
    sentinels: settings.sentinels.map(address),
    name: settings.sentinelName,
    sentinelUsername: settings.sentinelUsername,
    sentinelPassword: settings.sentinelPassword,
    sentinelRetryStrategy: options.retryStrategy,
    ...(secure ? { tls: tlsOf(settings), sentinelTLS: tlsOf(settings), enableTLSForSentinelMode: true } : {}),
  })
}

function openCluster(settings: RedisSettings, options: RedisClientOptions): Cluster {
  const { clusterNodes = [], username, password } = settings
  const { retryStrategy, enableOfflineQueue, ...perNode } = options
  return new Cluster(clusterNodes.map(address), {
    enableOfflineQueue,
    clusterRetryStrategy: retryStrategy,
    // A failed command has the slots looked up again. Commands that must not wait are repeated a few times only.
    maxRedirections: options.maxRetriesPerRequest === null ? 16 : 3,
    slotsRefreshInterval: 2_000,
    // Opens separate connections at the first subscription.
    shardedSubscribers: true,
    redisOptions: { ...perNode, username, password, ...(settings.tls?.enabled ? { tls: tlsOf(settings) } : {}) },
    // A certificate names a host, so the host must not be replaced by its address.
    ...(settings.tls?.enabled ? { dnsLookup: (host, found) => found(null, host) } : {}),
  })
}

const tlsOf = ({ tls }: RedisSettings) => (tls?.ca ? { ca: tls.ca } : {})

const isSecure = (url: string) => /^rediss:/i.test(url)

/** Only what the URL leaves out. */
function credentials(given: Pick<RedisSettings, 'username' | 'password'>, url: string) {
  const { username, password } = URL.canParse(url) ? new URL(url) : { username: '', password: '' }
  return username || password ? {} : given
}

/** `host:port`, an IPv6 address in brackets. */
function address(text: string) {
  const end = text.lastIndexOf(':')
  return { host: text.slice(0, end).replace(/^\[(.*)\]$/, '$1'), port: Number(text.slice(end + 1)) }
}

/**
 * Names in Redis, below the prefix of this installation. The braces keep everything of one kind in one slot of a cluster: one
 * script uses both the stream and the channel on which it is published.
 */
export function redisNames({ keyPrefix = 'parley:' }: { keyPrefix?: string } = {}) {
  return {
    stream: (epoch: string) => `${keyPrefix}{events}:${epoch}`,
    events: `${keyPrefix}{events}`,
    ephemeral: `${keyPrefix}{ephemeral}`,
    wake: `${keyPrefix}{wake}`,
    jobs: `${keyPrefix}{jobs}`,
    rates: `${keyPrefix}rate:`,
  }
}
