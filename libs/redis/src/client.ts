import type { Config } from '@parley/config'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { SentinelSockets, StandaloneSockets } from './connectors.ts'

/** The settings `redis` of the configuration. A URL, Sentinels or cluster nodes are enough. */
export type RedisSettings = Partial<Config['redis']>

interface RedisClientOptions
  extends Pick<
    RedisOptions,
    | 'enableOfflineQueue'
    | 'autoResendUnfulfilledCommands'
    | 'autoResubscribe'
    | 'connectTimeout'
    | 'commandTimeout'
    | 'maxRetriesPerRequest'
  > {
  /** The name in CLIENT LIST, for the operator. */
  connectionName: string
  /** Milliseconds until the next attempt to connect. */
  retryStrategy(tries: number): number
}

/**
 * Opens a client for the Redis of the configuration: a single server, the master that Sentinels name, or a cluster. A
 * cluster is returned as a `Redis`, because it has the same commands and events. Only publishing and subscribing
 * differ: use `publish` and `followChannel`.
 */
export function openRedis(settings: RedisSettings, options: RedisClientOptions): Redis {
  if (settings.clusterNodes?.length) return openCluster(settings, options) as unknown as Redis
  const { username, password } = settings
  // After a failover this connection still leads to the old master, which is a replica now. A new connection finds the
  // new master.
  const shared = { ...options, reconnectOnError: ({ message }: Error) => message.startsWith('READONLY') }
  if (!settings.sentinels?.length) {
    const { url = '' } = settings
    // The credentials of the URL win. The authority to trust cannot be part of a URL.
    const access = credentials({ username, password }, url)
    return new Redis(url, {
      ...shared,
      Connector: StandaloneSockets,
      ...access,
      ...(isSecure(url) ? { tls: tlsOf(settings) } : {}),
    })
  }
  const secure = settings.tls?.enabled ?? false
  return new Redis({
    ...shared,
    Connector: SentinelSockets,
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
    // After a failed command the client looks up the slots again. Commands that must not wait are repeated only a few
    // times.
    maxRedirections: options.maxRetriesPerRequest === null ? 16 : 3,
    slotsRefreshInterval: 2_000,
    // The client opens separate connections at the first subscription.
    shardedSubscribers: true,
    redisOptions: {
      ...perNode,
      Connector: StandaloneSockets,
      username,
      password,
      ...(settings.tls?.enabled ? { tls: tlsOf(settings) } : {}),
    },
    // A certificate is for a host name, so the name must not be replaced by its address.
    ...(settings.tls?.enabled ? { dnsLookup: (host, found) => found(null, host) } : {}),
  })
}

const tlsOf = ({ tls }: RedisSettings) => (tls?.ca ? { ca: tls.ca } : {})

const isSecure = (url: string) => /^rediss:/i.test(url)

/** The user name and password of the settings, unless the URL has its own. */
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
 * Names of keys and channels in Redis, with the prefix of this installation. Names with the same word in braces are in
 * one slot of a cluster: a script can then append to the Redis Stream and publish on the channel in one step.
 */
export function redisNames({ keyPrefix = 'parley:' }: { keyPrefix?: string } = {}) {
  return {
    stream: (epoch: string) => `${keyPrefix}{events}:${epoch}`,
    events: `${keyPrefix}{events}`,
    ephemeral: `${keyPrefix}{ephemeral}`,
    wake: `${keyPrefix}{wake}`,
    jobs: `${keyPrefix}{jobs}`,
    rates: `${keyPrefix}rate:`,
    readiness: `${keyPrefix}readiness`,
  }
}
