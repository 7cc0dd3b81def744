import { randomBytes } from 'node:crypto'
import { passwordFile } from '@parley/cli/role-passwords'
import { databaseRoles, roleName } from '@parley/database'

export interface Places {
  /** `host:port` of PostgreSQL and of Redis. */
  postgres: string
  redis: string
}

/** What an installation keeps secret: contents by file name. */
type Files = Record<string, string>

export interface Secrets {
  /** For every service; the worker issues and checks no tokens and gets no secret of theirs. */
  shared: Files
  /** For the first start, which removes it. */
  firstStart: Files
  /** For each service that uses PostgreSQL, the way in by its role; for `migrate` the owner's, and what the roles' passwords are to be. */
  database: Record<string, Files>
  postgres: Files
  redis: Files
}

/** Makes every secret anew. */
export function makeSecrets({ postgres, redis }: Places): Secrets {
  const ownerPassword = randomText(24)
  const redisPassword = randomText(24)
  const passwords = databaseRoles.map((role) => ({ role, password: randomText(24) }))
  const wayIn = (user: string, password: string) => ({
    'database-url': `postgres://${user}:${password}@${postgres}/parley`,
  })
  return {
    shared: {
      'jwt-secret': randomText(48),
      'redis-url': `redis://:${redisPassword}@${redis}`,
    },
    firstStart: { 'initial-user-password': randomText(15) },
    database: {
      ...Object.fromEntries(passwords.map(({ role, password }) => [role, wayIn(roleName(role), password)])),
      migrate: {
        ...wayIn('parley', ownerPassword),
        ...Object.fromEntries(passwords.map(({ role, password }) => [passwordFile(role), password])),
      },
    },
    postgres: { password: ownerPassword },
    redis: { password: redisPassword, 'redis.conf': `requirepass ${redisPassword}\n` },
  }
}

const randomText = (bytes: number) => randomBytes(bytes).toString('base64url')

/** A folder for each reader, with what that one needs. */
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

/** Whoever reads this folder may empty it. */
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
