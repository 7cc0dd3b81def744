interface PostgresError {
  code?: string
  constraint?: string
}

/** Whether the statement may succeed later: the connection was lost or refused, or the server is shutting down or overloaded. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnreachable) return true
  const { code } = error as PostgresError
  if (code && awayCodes.has(code)) return true
  if (code?.length === 5 && code.startsWith('08')) return true
  const { message } = error as Error
  return typeof message === 'string' && awayMessages.test(message)
}

/** Whether another transaction held a lock for too long, or both waited for each other. */
export const isLockBusy = (error: unknown): boolean => ['55P03', '40P01'].includes((error as PostgresError).code ?? '')

/** Whether a statement exceeded its time limit. */
export const isOutOfTime = (error: unknown): boolean => (error as PostgresError).code === '57014'

/** Whether a table or column is missing, because the migrations have not run yet. */
export const isSchemaMissing = (error: unknown): boolean =>
  ['42P01', '42703'].includes((error as PostgresError).code ?? '')

/** Whether a unique index refused a row; `index` limits this to one index. */
export function isDuplicate(error: unknown, index?: string): boolean {
  const { code, constraint } = error as PostgresError
  return code === '23505' && (index === undefined || constraint === index)
}

const awayCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTFOUND',
  'EHOSTUNREACH',
  '28000', // may not sign in yet: the migration step allows it
  '28P01', // wrong password, or the role does not exist yet
  '25006', // read only: the server became a standby
  '53100', // disk full
  '53200', // out of memory
  '53300', // too many connections
  '57P01', // terminated by administrator
  '57P02', // crash of another backend
  '57P03', // starting up or shutting down
  '57014', // statement timeout
  '25P03', // idle in transaction timeout
  '40001', // serialization failure
  '40P01', // deadlock detected
  '55P03', // lock not available
])
const awayMessages =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable/i

/** The client of a failed connection, without its password. */
interface FailedClient {
  host: string
  port: number
  user?: string | undefined
  database?: string | undefined
  /** The index of its server. */
  server: number
}

/** Our own error code, beside those of PostgreSQL: the server is read-only. */
export const standbyCode = 'PARLEY_STANDBY'

/** No connection to PostgreSQL could be opened. The message tells the operator which server failed, why, and what to do. */
export class DatabaseUnreachable extends Error {
  override readonly name = 'DatabaseUnreachable'
  /** The error code of PostgreSQL, Node or OpenSSL. */
  readonly code: string | undefined
  readonly client: FailedClient

  constructor(client: FailedClient, cause: NodeJS.ErrnoException, message = describe(client, cause)) {
    super(message)
    this.code = cause.code
    this.client = client
    // The logger must not print the client.
    Object.defineProperty(this, 'client', { enumerable: false })
  }

  /** One error for the failures of all servers that were tried. */
  static all(faults: readonly DatabaseUnreachable[]): DatabaseUnreachable {
    const [first] = faults
    const sentences = new Set(faults.map(({ message }) => message))
    return sentences.size === 1 ? first! : new DatabaseUnreachable(first!.client, first!, [...sentences].join('; '))
  }

  /** The same error as a failure of the time limit. */
  outOfTime(): DatabaseUnreachable {
    return new DatabaseUnreachable(this.client, Object.assign(new Error(), { code: 'ETIMEDOUT' }))
  }
}

function describe(client: FailedClient, error: NodeJS.ErrnoException): string {
  const { host, port } = client
  const name = host.includes(':') ? `[${host}]` : host
  const [reason, remedy] = explain(client, error)
  const code = error.code && error.code !== standbyCode ? ` (${error.code})` : ''
  return `PostgreSQL at ${name}:${port} ${reason}${code}: ${remedy}`
}

function explain(
  { host, user, database }: FailedClient,
  { code = '', message }: NodeJS.ErrnoException,
): [string, string] {
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
        /client certificate/.test(message)
          ? 'give it by sslcert and sslkey in database.url'
          : 'check user and sslmode in database.url, and pg_hba.conf',
      ]
    case '3D000':
      return [`has no database ${database}`, 'create it, or correct its name in database.url']
    case '53300':
      return ['has no connection left', 'raise max_connections there, see docs/database.md']
    case '57P03':
      return [`is not ready, it says "${message}"`, 'Parley tries again']
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
  if (/^ERR_OSSL_/.test(code))
    return [
      'cannot be asked, because the client certificate or its key cannot be used',
      'check the files of sslcert and sslkey in database.url: a certificate and its own key without a password, as PEM',
    ]
  if (/^ERR_SSL_\w*_ALERT_(?:UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_|UNSUPPORTED_CERTIFICATE)/.test(code))
    return [
      'refuses the client certificate',
      'check that sslcert in database.url is valid and from the authority of ssl_ca_file there',
    ]
  if (/does not support SSL/.test(message))
    return ['offers no TLS', 'switch it on there, or choose sslmode=disable where the network can be trusted']
  return [`cannot be used, it says "${message.trim()}"`, 'check database.url and the log of PostgreSQL']
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
