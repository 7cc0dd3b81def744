import { requireSchema } from '@parley/database'
import { createFailureLog, type FailureLog, type Logger } from '@parley/telemetry'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { type Static, Type } from 'typebox'
import { timeoutWhileAwake } from './awake-timeout.ts'
import type { Deps } from './deps.ts'

export interface Check {
  /** True: without it the service is `unavailable`. False: without it the service is `degraded`. */
  required: boolean
  /** Resolves when the dependency answers, rejects with the reason when it does not. */
  run(): Promise<unknown>
}

export type Checks = Record<string, Check>

const Health = Type.Object(
  {
    status: Type.Enum(['ok', 'degraded', 'unavailable', 'draining']),
    dependencies: Type.Record(
      Type.String(),
      Type.Object({ status: Type.Enum(['ok', 'unavailable']), required: Type.Boolean() }),
      {
        description: 'By name. Without a required one the server is `unavailable`, without another one only `degraded`',
      },
    ),
  },
  { description: 'The state of the server and of its dependencies' },
)
type Health = Static<typeof Health>

const IsThere = {
  summary: 'Whether the server answers',
  response: { 200: { description: 'OK', content: { 'text/plain': { schema: Type.Literal('OK') } } } },
}
const IsLive = {
  summary: 'Whether the process works',
  response: { 200: Type.Object({ status: Type.Literal('ok') }) },
}
const IsReady = {
  summary: 'Whether the server can serve, with the state of its dependencies',
  response: { 200: Health, 503: Health },
}

const timeoutMs = 2_000

interface HealthOptions {
  checks: Checks
  logger: Logger
  isDraining(): boolean
}

/**
 * `GET /health` (does the server answer), `/health/live` (does the process work), `/health/ready` (can it serve: 200, else 503). Many
 * monitors use HEAD.
 */
export function serveHealth(app: FastifyInstance, { checks, logger, isDraining }: HealthOptions): void {
  const watched = Object.entries(checks).map(([name, check]) => ({ name, ...check, log: dependencyLog(logger, name) }))
  const open = { config: { access: 'none' } } as const
  app.get('/health', { ...open, schema: IsThere }, async (_request, reply) =>
    reply.type('text/plain; charset=utf-8').send('OK'),
  )
  app.get('/health/live', { ...open, schema: IsLive }, async () => ({ status: 'ok' }))
  app.get('/health/ready', { ...open, schema: IsReady }, async (_request, reply) => {
    const health = await askAll(watched)
    if (isDraining()) health.status = 'draining'
    reply.header('cache-control', 'no-store')
    return reply.code(health.status === 'ok' || health.status === 'degraded' ? 200 : 503).send(health)
  })
}

interface WatchedCheck extends Check {
  name: string
  log: FailureLog
}

/** Probes come every few seconds, so the loss of a dependency and its return are logged once each. */
const dependencyLog = (logger: Logger, dependency: string): FailureLog =>
  createFailureLog(logger.child({ dependency }), 'a dependency is unavailable', {
    recovered: 'a dependency is available again',
  })

async function askAll(checks: readonly WatchedCheck[]): Promise<Health> {
  const health: Health = { status: 'ok', dependencies: {} }
  const timeout = timeoutWhileAwake(timeoutMs)
  await Promise.all(
    checks.map(async ({ name, required, run, log }) => {
      const failure = await Promise.race([run(), rejectionOf(timeout)]).then(
        () => null,
        (error: unknown) => ({ error }),
      )
      health.dependencies[name] = { status: failure ? 'unavailable' : 'ok', required }
      if (!failure) return log.succeeded()
      log.failed(failure.error)
      if (required) health.status = 'unavailable'
      else if (health.status === 'ok') health.status = 'degraded'
    }),
  )
  return health
}

const rejectionOf = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

/** The check of every service with a database: PostgreSQL answers, and the migrations of this version were run. */
export function databaseCheck({ db, pool }: Pick<Deps, 'db' | 'pool'>): Check {
  let hasSchema = false
  return {
    required: true,
    async run() {
      if (hasSchema) return serves(db, pool)
      await requireSchema(db)
      hasSchema = true
    },
  }
}

/**
 * Resolves when PostgreSQL has answered this check, or somebody who waited for a connection before it: a connection is handed on only
 * after its statements were answered. So a process with very many requests stays ready. Otherwise the others would get all of its
 * requests too.
 */
async function serves(db: Deps['db'], pool: Deps['pool']): Promise<void> {
  const isHandedOn = Promise.withResolvers<void>()
  const handedOn = () => isHandedOn.resolve()
  if (pool.waitingCount > 0) pool.on('acquire', handedOn)
  try {
    await Promise.race([sql`select 1`.execute(db), isHandedOn.promise])
  } finally {
    pool.off('acquire', handedOn)
  }
}

/**
 * The check of a service that stores or serves files. Without object storage people can still send messages, so the service is only
 * degraded. Files in PostgreSQL need no check of their own.
 */
export const storageCheck = ({ config, blobs }: Pick<Deps, 'config' | 'blobs'>): Checks =>
  config.storage.store === 's3' ? { storage: { required: false, run: () => blobs.check() } } : {}
