import { Socket } from 'node:net'
import { CamelCasePlugin, Kysely, type Transaction as KyselyTransaction, PostgresDialect } from 'kysely'
import pg from 'pg'
import { nameStatements } from './statement-names.ts'
import type { Tables } from './tables.ts'

export type Database = Kysely<Tables>
export type Transaction = KyselyTransaction<Tables>
/** Reads that work inside and outside a transaction. */
export type Reader = Database | Transaction

/** One connection, for what spans several statements and is no transaction of Kysely's. */
export type PooledClient = pg.PoolClient

export interface ConnectionOptions {
  /** postgres://user:password@host:port/database */
  url: string
  /** Most connections this process holds. */
  poolSize: number
  /** Shown in pg_stat_activity, for the operator. */
  applicationName: string
  /** Called when an idle connection is lost; the pool replaces it by itself. */
  onIdleError: (error: Error) => void
  /** Milliseconds after which a connection that says nothing counts as lost; more than any statement may take. */
  silenceMs?: number
}

export interface Connection {
  db: Database
  /** The pool below Kysely, for the few statements that are prepared by name. */
  pool: pg.Pool
  close(): Promise<void>
}

const int8 = 20

/**
 * Opens a connection pool. Nothing is connected until the first query. A query waits at most 5 s for a connection, a
 * statement runs at most 30 s, and a transaction left idle is ended after 30 s. A server that vanished without a word (frozen, cut
 * off, failed over) fails what waits for it after 35 s.
 */
export function connectDatabase(options: ConnectionOptions): Connection {
  const { url, poolSize, applicationName, onIdleError, silenceMs = 35_000 } = options
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    application_name: applicationName,
    connectionTimeoutMillis: 5_000,
    // Before an idle connection could be taken for a silent one.
    idleTimeoutMillis: Math.min(30_000, silenceMs / 2),
    statement_timeout: 30_000,
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    types: { getTypeParser },
    stream: () => socketThatSpeaks(silenceMs),
  })
  pool.on('error', onIdleError)
  // A connection lost while in use fails its query; nobody else listens, and the unheard event would end the process.
  pool.on('connect', (client) => {
    client.on('error', () => {})
    nameStatements(client)
  })
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
