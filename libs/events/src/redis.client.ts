import type { Config } from '@parley/config'
import { Cluster, Redis, type RedisOptions } from 'ioredis'

/** Where Redis is and how it lets us in; the settings of the configuration, of which one way to an address suffices. */
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
  retryStrategy(attempt: number): number
}

/**
 * Opens a client for whatever `redis` of the configuration names: one Redis, the master that Sentinels know, or a cluster. A
 * cluster is handed out as a `Redis`: it takes the same commands and tells the same events. What differs is how to publish
 * and to subscribe; see `redis.channel.ts`.
 */
export function openRedis(settings: RedisSettings, options: RedisClientOptions): Redis {
  if (settings.clusterNodes?.length) return openCluster(settings, options) as unknown as Redis
  const { username, password } = settings
  // After a failover the old master stays at the other end, as a replica: a new connection finds the new master.
  const shared = { ...options, reconnectOnError: ({ message }: Error) => message.startsWith('READONLY') }
  if (!settings.sentinels?.length) {
    const { url = '' } = settings
    // What the URL says counts; it cannot say which authority to trust.
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
    // A command that fails sends for the new map; the ones that must not wait are not repeated all through a failover.
    maxRedirections: options.maxRetriesPerRequest === null ? 16 : 3,
    slotsRefreshInterval: 2_000,
    // Connections of its own are opened when the first channel is subscribed to.
    shardedSubscribers: true,
    redisOptions: { ...perNode, username, password, ...(settings.tls?.enabled ? { tls: tlsOf(settings) } : {}) },
    // A certificate names a host, and would not fit its address.
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
