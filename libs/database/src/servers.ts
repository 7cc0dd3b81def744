import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { ConfigError, type DatabaseAddress, parseDatabaseUrl } from '@parley/config'
import pg from 'pg'
import { DatabaseUnreachable, standbyCode } from './failures.ts'

/** `url` may name several hosts; `ca` is the authority (PEM) to trust. */
type ServerPoolOptions = Omit<pg.PoolConfig, 'connectionString' | 'ssl' | 'Client'> & {
  url: string
  ca?: string | undefined
}

/**
 * A pool over one or several servers. A new connection goes to the server that served last. When that server cannot be
 * used, or is a read-only standby, the others are tried in order. A connection that fails throws `DatabaseUnreachable`.
 * @throws ConfigError when the address or a certificate file cannot be used.
 */
export function createServerPool({ url, ca, ...options }: ServerPoolOptions): pg.Pool {
  const address = parseDatabaseUrl(url)
  if (!address) throw faultyUrl('is not the URL of a PostgreSQL')
  const { servers } = address
  const mustWrite = servers.length > 1 || address.targetSessionAttrs !== undefined
  const ssl = tlsOf(address, ca)
  let current = 0

  class ServerClient extends pg.Client {
    readonly server: number

    constructor(config: pg.ClientConfig) {
      super({ ...config, connectionString: servers[current]!, ...(ssl !== undefined && { ssl }) })
      this.server = current
      // A connection that is lost during a query fails that query. Without a listener the event would end the process.
      this.on('error', () => {})
    }

    override connect(): Promise<this>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<this> | undefined {
      const connected = this.#connectAndCheck()
      if (!callback) return connected
      connected.then(() => callback(undefined as never), callback)
      return undefined
    }

    async #connectAndCheck(): Promise<this> {
      try {
        await super.connect()
        if (mustWrite) await this.#refuseStandby()
        return this
      } catch (error) {
        // Not awaited, because a server that does not answer would not answer this either.
        this.end().catch(() => {})
        throw new DatabaseUnreachable(this, error as Error)
      }
    }

    async #refuseStandby() {
      const { rows } = await this.query<{ transaction_read_only: string }>('show transaction_read_only')
      if (rows[0]?.transaction_read_only !== 'on') return
      throw Object.assign(new Error('the server is a read-only standby'), { code: standbyCode })
    }
  }

  class ServerPool extends pg.Pool {
    override connect(): Promise<pg.PoolClient>
    override connect(
      callback: (error: Error | undefined, client: pg.PoolClient | undefined, done: () => void) => void,
    ): void
    override connect(
      callback?: (
        error: Error | undefined,
        client: pg.PoolClient | undefined,
        done: (release?: unknown) => void,
      ) => void,
    ): Promise<pg.PoolClient> | undefined {
      const connected = this.#connectInTurn()
      if (!callback) return connected
      connected.then(
        (client) => callback(undefined, client, (release) => client.release(release as boolean)),
        (error) => callback(error, undefined, () => {}),
      )
      return undefined
    }

    async #connectInTurn(): Promise<pg.PoolClient> {
      const faults: DatabaseUnreachable[] = []
      while (faults.length < servers.length) {
        try {
          return await super.connect()
        } catch (error) {
          faults.push(faultOf(error as Error))
        }
      }
      throw DatabaseUnreachable.all(faults)
    }
  }

  /** The reason why a connection failed. Other errors (the pool is busy or closed) are rethrown. */
  function faultOf(error: Error): DatabaseUnreachable {
    // When the pool's own time limit ended the connection, the client's error is the cause of the pool's error.
    const isOutOfTime = error.cause instanceof DatabaseUnreachable
    const fault = isOutOfTime ? (error.cause as DatabaseUnreachable) : error
    if (!(fault instanceof DatabaseUnreachable)) throw error
    // Another connection that failed at the same time may have moved on already.
    if (fault.client.server === current) current = (current + 1) % servers.length
    return isOutOfTime ? fault.outOfTime() : fault
  }

  return new ServerPool({ ...options, Client: ServerClient as never })
}

/** Undefined leaves TLS to the driver, which uses none unless its environment variables ask for it. */
function tlsOf(address: DatabaseAddress, ca: string | undefined): ConnectionOptions | false | undefined {
  const authority = ca ?? (address.sslRootCert === 'system' ? undefined : readPem(address.sslRootCert, 'sslrootcert'))
  if (authority !== undefined) requireCertificate(authority, ca === undefined ? 'database.url' : 'database.tls.ca')
  const isAsked = authority !== undefined || address.sslRootCert !== undefined || address.sslCert !== undefined
  const mode = address.sslMode ?? (isAsked ? 'verify-full' : undefined)
  if (mode === undefined) return undefined
  if (mode === 'disable') return false
  const own = { cert: readPem(address.sslCert, 'sslcert'), key: readPem(address.sslKey, 'sslkey') }
  const options = { ca: authority, ...own }
  if (mode === 'verify-full') return options
  if (authority === undefined) return { ...options, rejectUnauthorized: false }
  // As in libpq, `require` with an authority means `verify-ca`.
  return { ...options, checkServerIdentity: () => undefined }
}

function readPem(file: string | undefined, parameter: string): string | undefined {
  if (file === undefined) return undefined
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw faultyUrl(`names the ${parameter} ${file}, which cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

/** OpenSSL ignores a text that is not a certificate, and would then trust no server. */
function requireCertificate(pem: string, key: string) {
  try {
    new X509Certificate(pem)
  } catch (cause) {
    throw Object.assign(new ConfigError([{ key, message: 'must name certificates in the PEM format' }]), { cause })
  }
}

const faultyUrl = (message: string) => new ConfigError([{ key: 'database.url', message }])
