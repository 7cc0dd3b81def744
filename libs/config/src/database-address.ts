/** The modes of TLS, named as in libpq. `allow` and `prefer` are left out, because with them a connection may be unencrypted. */
export const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const
export type SslMode = (typeof sslModes)[number]

/** The parts of `database.url`. Several hosts are separated by commas, each with or without a port. */
export interface DatabaseAddress {
  /** A URL for each host, in the order in which they are tried, without the parameters about TLS. */
  servers: string[]
  /** As written; `ssl=true` is another spelling of `require`. */
  sslMode: string | undefined
  /** Paths of the certificate of the authority to trust (or the word `system`), of our own certificate and of its key. */
  sslRootCert: string | undefined
  sslCert: string | undefined
  sslKey: string | undefined
  /** As written: which kind of server to connect to. */
  targetSessionAttrs: string | undefined
}

const pattern = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#@]*)([^?#]*)(?:\?([^#]*))?/i

/** Reads a PostgreSQL URL as libpq does; undefined for a text that is not such a URL. */
export function parseDatabaseUrl(text: string): DatabaseAddress | undefined {
  const [, scheme, credentials = '', hosts = '', path = '', query] = pattern.exec(text) ?? []
  if (scheme === undefined) return undefined
  const parameters = new URLSearchParams(query)
  const take = (name: string) => {
    const value = parameters.get(name) ?? undefined
    parameters.delete(name)
    return value
  }
  const ssl = take('ssl')
  const address = {
    sslMode: take('sslmode') ?? (ssl === 'true' || ssl === '1' ? 'require' : undefined),
    sslRootCert: take('sslrootcert'),
    sslCert: take('sslcert'),
    sslKey: take('sslkey'),
    targetSessionAttrs: take('target_session_attrs'),
  }
  const rest = parameters.size > 0 ? `?${parameters}` : ''
  const names = hosts.split(',')
  if (names.length > 1 && names.includes('')) return undefined
  const servers = names.map((host) => `${scheme}${credentials}${host}${path}${rest}`)
  return servers.every((url) => URL.canParse(url)) ? { servers, ...address } : undefined
}
