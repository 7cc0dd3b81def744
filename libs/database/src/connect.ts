import { createHash } from 'node:crypto'
import { Socket } from 'node:net'
import { CamelCasePlugin, Kysely, type Transaction as KyselyTransaction, PostgresDialect } from 'kysely'
import pg from 'pg'
import { createServerPool } from './servers.ts'
import type { Tables } from './tables.ts'

export type Database = Kysely<Tables>
export type Transaction = KyselyTransaction<Tables>
/** For reads that work inside and outside a transaction. */
export type Reader = Database | Transaction

/** One connection of the pool, for several statements without a Kysely transaction. */
export type PooledClient = pg.PoolClient

export interface ConnectionOptions {
  /** postgres://user:password@host:port/database. Several hosts are separated by commas, and tried in turn. */
  url: string
  /** Certificates (PEM) of the authority to trust. A URL without TLS settings then means `verify-full`. */
  ca?: string | undefined
  /** The largest number of connections of this process. */
  poolSize: number
  /** The name in pg_stat_activity. */
  applicationName: string
  /** Called when an idle connection is lost. The pool replaces it. */
  onIdleError: (error: Error) => void
  /** Milliseconds without an answer after which a connection counts as lost. Must exceed the time limit of a statement. */
  silenceMs?: number
  /** Behind a pooler in transaction mode, a session gets its settings only from its role. */
  pooler?: 'none' | 'transaction'
  /** Whether statements are prepared by name. The default is true without a pooler. */
  preparedStatements?: boolean
}

export interface Connection {
  db: Database
  /** The pool below Kysely, for statements with a name of their own and for statements that stream their rows. */
  pool: pg.Pool
  close(): Promise<void>
}

/** The numbers that PostgreSQL gives to these types. */
const int8 = 20
const int8Array = 1016

/**
 * Statements of requests and deliveries look rows up by an index, in its order. They must do so even when the plan was made while the
 * table was empty, or when PostgreSQL has no statistics (after a crash, or when it is new). So scans of whole tables and bitmap scans
 * are used only when no index serves the statement.
 */
const plannerSettings = { enable_seqscan: 'off', enable_bitmapscan: 'off', jit: 'off' }

/** In milliseconds. */
const timeLimits = { statement_timeout: 30_000, idle_in_transaction_session_timeout: 30_000 }

/** Settings of every session. The roles of the services have them too, because a client cannot set them behind a pooler. */
export const sessionSettings = { ...plannerSettings, ...timeLimits }

const setPlanner = {
  text: Object.entries(plannerSettings)
    .map(([name, value]) => `set ${name} = ${value}`)
    .join('; '),
  query_timeout: 5_000,
}

/**
 * Opens a connection pool, which connects at the first query. A query waits at most 5 s for a connection. A statement runs at most
 * 30 s, and a transaction may be idle for 30 s. When the server does not answer any more (frozen, cut off, failed over), queries fail
 * after 35 s. A connection that cannot be opened fails with `DatabaseUnreachable`.
 * @throws ConfigError when the address or a certificate cannot be used.
 */
export function connectDatabase(options: ConnectionOptions): Connection {
  const { url, ca, poolSize, applicationName, onIdleError, silenceMs = 35_000, pooler = 'none' } = options
  const { preparedStatements = pooler === 'none' } = options
  const ownsSession = pooler === 'none'
  const pool = createServerPool({
    url,
    ca,
    max: poolSize,
    application_name: applicationName,
    connectionTimeoutMillis: 5_000,
    // An idle connection is closed before it could count as lost.
    idleTimeoutMillis: Math.min(30_000, silenceMs / 2),
    ...(ownsSession && timeLimits),
    keepAlive: true,
    types: { getTypeParser },
    stream: () => socketWithTimeout(silenceMs),
    onConnect: async (client) => {
      if (ownsSession) await client.query(setPlanner)
    },
  })
  pool.on('error', onIdleError)
  pool.on('connect', (client) => (preparedStatements ? nameStatements(client) : removeNames(client)))
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new CamelCasePlugin({ maintainNestedObjectKeys: true })],
  })
  return {
    db,
    pool,
    async close() {
      await db.destroy()
      // Kysely does not end a pool that it has not used.
      if (!pool.ending) await pool.end()
    },
  }
}

/** When the server has failed, its own time limits have no effect, and TCP gives up only after 15 minutes. */
function socketWithTimeout(silenceMs: number): Socket {
  const socket = new Socket()
  return socket.setTimeout(silenceMs, () => {
    socket.destroy(Object.assign(new Error('the database has not answered for too long'), { code: 'ETIMEDOUT' }))
  })
}

function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return oid === int8 ? Number : oid === int8Array ? parseInt8Array : pg.types.getTypeParser(oid, format as 'text')
}

const parseInt8Array = (text: string) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number))

/** Names of prepared statements, by their text. Only `statements.ts` adds names, so their number is limited by the code. */
const statementNames = new Map<string, string>()

/** Gives this statement a name, by which every connection prepares it. */
export function nameStatement(text: string): void {
  if (!statementNames.has(text))
    statementNames.set(text, `parley_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`)
}

/** Adds the names of prepared statements to the queries of a connection, because Kysely has no names for statements. */
function nameStatements(client: pg.Client): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown
  const named = (text: unknown, values?: unknown, ...rest: unknown[]) => {
    const name = typeof text === 'string' && Array.isArray(values) ? statementNames.get(text) : undefined
    return name === undefined ? query(text, values, ...rest) : query({ name, text, values }, ...rest)
  }
  client.query = named as typeof client.query
}

/** Removes the names, because a pooler may run the next statement on a connection that has not prepared it. */
function removeNames(client: pg.Client): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown
  const unnamed = (config: unknown, ...rest: unknown[]) =>
    query(
      typeof config === 'object' && config !== null && 'name' in config ? { ...config, name: undefined } : config,
      ...rest,
    )
  client.query = unnamed as typeof client.query
}
