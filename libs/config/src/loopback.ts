import { isIPv4 } from 'node:net'

/**
 * Whether a host name or address (IPv6 also in brackets) is reachable only from this machine. Names other than
 * `localhost` count as public.
 */
export function isLoopbackHost(host: string): boolean {
  const name = host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/^::ffff:(?=\d+\.)/, '')
  if (isIPv4(name)) return name.startsWith('127.')
  return name === '::1' || name === 'localhost' || name.endsWith('.localhost')
}
