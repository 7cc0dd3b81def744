import { Socket } from 'node:net'
import { CamelCasePlugin, Kysely, type Transaction as KyselyTransaction, PostgresDialect } from 'kysely'
import pg from 'pg'
import { createServerPool } from './servers.ts'
import { leaveOutNames, nameStatements } from './statement-names.ts'
import type { Tables } from './tables.ts'

export type Database = Kysely<Tables>
export type Transaction = KyselyTransaction<Tables>
/** Reads that work inside and outside a transaction. */
export type Reader = Database | Transaction

/** One connection, for what spans several statements and is no transaction of Kysely's. */
export type PooledClient = pg.PoolClient

export interface ConnectionOptions {
  /** postgres://user:password@host:port/database; several hosts are separated by commas, and tried in turn. */
  url: string
  /** Certificates (PEM) of the authority to trust. Makes `verify-full` of a URL that says nothing about TLS. */
  ca?: string | undefined
  /** Most connections this process holds. */
  poolSize: number
  /** Shown in pg_stat_activity, for the operator. */
  applicationName: string
  /** Called when an idle connection is lost; the pool replaces it by itself. */
  onIdleError: (error: Error) => void
  /** Milliseconds after which a connection that says nothing counts as lost; more than any statement may take. */
  silenceMs?: number
  /** Behind a pooler in transaction mode the settings of a session come from the role alone. */
  pooler?: 'none' | 'transaction'
  /** Whether statements are prepared by name; without a pooler they are, unless this says otherwise. */
  preparedStatements?: boolean
}

export interface Connection {
  db: Database
  /** The pool below Kysely, for the few statements that are prepared by name. */
  pool: pg.Pool
  close(): Promise<void>
}

const int8 = 20

/**
 * What a request or a delivery asks is a look-up by index, in the order of the index. So must its plan be when the table was empty
 * as it was made, and when PostgreSQL has no statistics because it crashed or the installation is new. Scans of whole tables, and
 * bitmaps of all that a condition matches, are left to statements that nothing else serves.
 */
const plannerSettings = { enable_seqscan: 'off', enable_bitmapscan: 'off', jit: 'off' }

/** In milliseconds: for a statement, and for a transaction in which nothing happens. */
const timeLimits = { statement_timeout: 30_000, idle_in_transaction_session_timeout: 30_000 }

/** What holds in every session. The roles of the services have it too: behind a pooler in transaction mode a client cannot set it. */
export const sessionSettings = { ...plannerSettings, ...timeLimits }

const setPlanner = {
  text: Object.entries(plannerSettings)
    .map(([name, value]) => `set ${name} = ${value}`)
    .join('; '),
  query_timeout: 5_000,
}

/**
 * Opens a connection pool. Nothing is connected until the first query. A query waits at most 5 s for a connection, a
 * statement runs at most 30 s, and a transaction left idle is ended after 30 s. A server that vanished without a word (frozen, cut
 * off, failed over) fails what waits for it after 35 s. A connection that cannot be opened fails with `DatabaseUnreachable`.
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
    // Before an idle connection could be taken for a silent one.
    idleTimeoutMillis: Math.min(30_000, silenceMs / 2),
    ...(ownsSession && timeLimits),
    keepAlive: true,
    types: { getTypeParser },
    stream: () => socketThatSpeaks(silenceMs),
    onConnect: async (client) => {
      if (ownsSession) await client.query(setPlanner)
    },
  })
  pool.on('error', onIdleError)
  pool.on('connect', (client) => (preparedStatements ? nameStatements(client) : leaveOutNames(client)))
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new CamelCasePlugin({ maintainNestedObjectKeys: true })],
  })
  return {
    db,
    pool,
    async close() {
      await db.destroy()
      // Kysely leaves a pool alone through which it never asked anything.
      if (!pool.ending) await pool.end()
    },
  }
}

/** The server's own time limits do not reach us when it is gone, and TCP gives up after a quarter of an hour. */
function socketThatSpeaks(silenceMs: number): Socket {
  const socket = new Socket()
  return socket.setTimeout(silenceMs, () => {
    socket.destroy(Object.assign(new Error('the database has said nothing for too long'), { code: 'ETIMEDOUT' }))
  })
}

function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return oid === int8 ? Number : oid === 1016 ? parseInt8Array : pg.types.getTypeParser(oid, format as 'text')
}

const parseInt8Array = (text: string) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number))
