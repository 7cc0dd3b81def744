import { randomBytes } from 'node:crypto'

/** Who reads secrets to reach PostgreSQL; the gateway has no business there. */
const databaseUsers = ['migrate', 'auth', 'directory', 'messaging', 'realtime', 'admin', 'worker'] as const

export interface Places {
  /** `host:port` of PostgreSQL and of Redis. */
  postgres: string
  redis: string
}

/** What an installation keeps secret: contents by file name. */
type Files = Record<string, string>

export interface Secrets {
  /** For every process. */
  shared: Files
  /** For each process that uses PostgreSQL, its own way in. All sign in as one user so far. */
  database: Record<string, Files>
  postgres: Files
  redis: Files
}

/** Makes every secret anew. */
export function makeSecrets({ postgres, redis }: Places): Secrets {
  const databasePassword = randomText(24)
  const redisPassword = randomText(24)
  const databaseUrl = `postgres://parley:${databasePassword}@${postgres}/parley`
  return {
    shared: {
      'jwt-secret': randomText(48),
      'redis-url': `redis://:${redisPassword}@${redis}`,
      'initial-user-password': randomText(15),
    },
    database: Object.fromEntries(databaseUsers.map((name) => [name, { 'database-url': databaseUrl }])),
    postgres: { password: databasePassword },
    redis: { password: redisPassword, 'redis.conf': `requirepass ${redisPassword}\n` },
  }
}

const randomText = (bytes: number) => randomBytes(bytes).toString('base64url')

/** A folder for each reader. */
export const asFolders = ({ shared, database, postgres, redis }: Secrets): Record<string, Files> => ({
  gateway: shared,
  ...Object.fromEntries(Object.entries(database).map(([name, files]) => [name, { ...shared, ...files }])),
  postgres,
  redis,
})

/** Manifests for `kubectl apply -f -`; JSON is YAML. */
export function asManifests({ shared, database, postgres, redis }: Secrets, namespace: string): string {
  const secret = (name: string, stringData: Files) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels: { 'app.kubernetes.io/part-of': 'parley' } },
    stringData,
  })
  const items = [
    secret('parley-shared', shared),
    ...Object.entries(database).map(([name, files]) => secret(`parley-database-${name}`, files)),
    secret('parley-postgres', postgres),
    secret('parley-redis', redis),
  ]
  return `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, null, 2)}\n`
}
