/** The client of a connection that failed, as far as it is told about. Never its password. */
interface Asked {
  host: string
  port: number
  user?: string | undefined
  database?: string | undefined
  /** Which of the servers it was. */
  server: number
}

/** Ours, beside PostgreSQL's: the server takes no writes. */
export const standbyCode = 'PARLEY_STANDBY'

/**
 * No connection to PostgreSQL could be opened. The message is one sentence for the operator: which server, why, and what to do.
 */
export class DatabaseUnreachable extends Error {
  override readonly name = 'DatabaseUnreachable'
  /** PostgreSQL's, Node's or OpenSSL's. */
  readonly code: string | undefined
  readonly client: Asked

  constructor(client: Asked, cause: NodeJS.ErrnoException, message = describe(client, cause)) {
    super(message)
    this.code = cause.code
    this.client = client
    // The driver's error stays out of it: where in the driver it arose helps nobody.
    Object.defineProperty(this, 'client', { enumerable: false })
  }

  /** One for the faults of all servers that were tried; a server counts once. */
  static all(faults: readonly DatabaseUnreachable[]): DatabaseUnreachable {
    const [first] = faults
    const sentences = new Set(faults.map(({ message }) => message))
    return sentences.size === 1 ? first! : new DatabaseUnreachable(first!.client, first!, [...sentences].join('; '))
  }

  /** The same when it was given up after the time limit. */
  outOfTime(): DatabaseUnreachable {
    return new DatabaseUnreachable(this.client, Object.assign(new Error(), { code: 'ETIMEDOUT' }))
  }
}

function describe(client: Asked, error: NodeJS.ErrnoException): string {
  const { host, port } = client
  const name = host.includes(':') ? `[${host}]` : host
  const [reason, remedy] = explain(client, error)
  const code = error.code && error.code !== standbyCode ? ` (${error.code})` : ''
  return `PostgreSQL at ${name}:${port} ${reason}${code}: ${remedy}`
}

function explain({ host, user, database }: Asked, { code = '', message }: NodeJS.ErrnoException): [string, string] {
  switch (code) {
    case 'ECONNREFUSED':
      return ['refuses the connection', 'check that it runs there, and host and port in database.url']
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return [`cannot be found, the name ${host} is unknown`, 'check the host in database.url, and DNS']
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return ['does not answer', 'check host and port in database.url, and the network and firewalls on the way']
    case 'ENOENT':
      return ['cannot be found, there is no such socket', 'check that it runs on this machine, and database.url']
    case '28P01':
      return [`refuses the password of ${user}`, 'check user and password in database.url']
    case '28000':
      return [
        `does not let ${user} in, it says "${message}"`,
        'check user and sslmode in database.url, and pg_hba.conf',
      ]
    case '3D000':
      return [`has no database ${database}`, 'create it, or correct its name in database.url']
    case '53300':
      return ['has no connection left', 'raise max_connections there, see docs/database.md']
    case '57P03':
      return [`is not ready, it says "${message}"`, 'it is tried again']
    case standbyCode:
      return ['is a read-only standby', 'name the primary in database.url too']
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return [
        'has a certificate for another host name',
        'write in database.url the name that is in the certificate, or choose sslmode=verify-ca',
      ]
    case 'CERT_HAS_EXPIRED':
      return ['has a certificate that has expired', 'renew it there']
  }
  if (untrusted.has(code))
    return ['has a certificate that is not from a trusted authority', 'give its authority by database.tls.ca']
  if (/does not support SSL/.test(message))
    return ['offers no TLS', 'switch it on there, or choose sslmode=disable where the network can be trusted']
  return [`cannot be used, it says "${message}"`, 'check database.url and the log of PostgreSQL']
}

const untrusted = new Set([
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'INVALID_CA',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])
