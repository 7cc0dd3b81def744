import { isIPv6 } from 'node:net'

/**
 * The network by which limits count: an IPv4 address, or the first 64 bits of an IPv6 address, because one client
 * usually has all addresses with the same 64 bits.
 */
export function networkOf(ip: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip) ?? []
  if (mapped) return mapped
  if (!isIPv6(ip)) return ip
  const [before = '', after] = ip.replace(/%.*$/, '').toLowerCase().split('::')
  const head = groups(before)
  const tail = after === undefined ? [] : groups(after)
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return `${[...head, ...zeros, ...tail]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

const groups = (text: string) => text.split(':').filter((group) => group !== '')
