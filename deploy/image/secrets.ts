import { randomBytes } from 'node:crypto'
import { passwordFile } from '@parley/cli/passwords'
import { databaseRoles, roleName } from '@parley/database'

interface ServerAddresses {
  /** `host:port` of PostgreSQL and of Redis. */
  postgres: string
  redis: string
}

/** The contents of secret files, by file name. */
type Files = Record<string, string>

export interface Secrets {
  /** For every service. The worker checks no tokens and does not get the token secret. */
  shared: Files
  /** For the first start, which removes the file. */
  firstStart: Files
  /** For each service that uses PostgreSQL, the address with its role. For `migrate`, the owner's address and all passwords. */
  database: Record<string, Files>
  postgres: Files
  redis: Files
}

/** Generates new secrets. */
export function makeSecrets({ postgres, redis }: ServerAddresses): Secrets {
  const ownerPassword = randomText(24)
  const redisPassword = randomText(24)
  const passwords = databaseRoles.map((role) => ({ role, password: randomText(24) }))
  const urlWith = (user: string, password: string) => ({
    'database-url': `postgres://${user}:${password}@${postgres}/parley`,
  })
  return {
    shared: {
      'jwt-secret': randomText(48),
      'redis-url': `redis://:${redisPassword}@${redis}`,
    },
    firstStart: { 'initial-user-password': randomText(15) },
    database: {
      ...Object.fromEntries(passwords.map(({ role, password }) => [role, urlWith(roleName(role), password)])),
      migrate: {
        ...urlWith('parley', ownerPassword),
        ...Object.fromEntries(passwords.map(({ role, password }) => [passwordFile(role), password])),
      },
    },
    postgres: { password: ownerPassword },
    redis: { password: redisPassword, 'redis.conf': `requirepass ${redisPassword}\n` },
  }
}

/** A random secret of this number of bytes. */
export const randomText = (bytes: number) => randomBytes(bytes).toString('base64url')

/** One folder for each process, with the secrets that it needs. */
export const asFolders = ({ shared, firstStart, database, postgres, redis }: Secrets): Record<string, Files> => {
  const { 'jwt-secret': _, ...withoutTokens } = shared
  const sharedWith: Record<string, Files> = { migrate: {}, worker: withoutTokens }
  return {
    gateway: shared,
    ...Object.fromEntries(
      Object.entries(database).map(([name, files]) => [name, { ...(sharedWith[name] ?? shared), ...files }]),
    ),
    [firstStartFolder]: firstStart,
    postgres,
    redis,
  }
}

/** The folder with the first password. The process that reads it may delete its files. */
export const firstStartFolder = 'first-start'

/** Manifests for `kubectl apply -f -`; JSON is YAML. */
export function asManifests({ shared, firstStart, database, postgres, redis }: Secrets, namespace: string): string {
  const secret = (name: string, stringData: Files) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels: { 'app.kubernetes.io/part-of': 'parley' } },
    stringData,
  })
  const items = [
    secret('parley-shared', shared),
    secret('parley-first-start', firstStart),
    ...Object.entries(database).map(([name, files]) => secret(`parley-database-${name}`, files)),
    secret('parley-postgres', postgres),
    secret('parley-redis', redis),
  ]
  return `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, null, 2)}\n`
}
