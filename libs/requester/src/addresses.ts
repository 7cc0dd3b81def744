import { lookup as lookUp } from 'node:dns'
import type { LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { RequestFailed } from './request-failed.ts'

interface ResolvedAddress {
  address: string
  family: number
}

/** Looks up all addresses of a name, like `dns.lookup`. */
export type Resolve = (
  hostname: string,
  done: (error: NodeJS.ErrnoException | null, addresses: ResolvedAddress[]) => void,
) => void

export const resolveBySystem: Resolve = (hostname, done) => lookUp(hostname, { all: true }, done)

/** The only IPv6 addresses that the registries give out (RFC 4291, 2.4). Networks in a network use some of the others. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Whether an address may be called: public unicast addresses, and addresses in one of the networks (addresses or CIDR
 * ranges). An address that embeds another one (IPv4-mapped, IPv4-compatible, NAT64, 6to4, Teredo) is not public.
 */
export function createAddressRule(networks: readonly string[]): (address: string) => boolean {
  const ranges = networks.map(rangeOf)
  return (address) => {
    if (!ipaddr.isValid(address)) return false
    const parsed = ipaddr.parse(address)
    if (isPublic(parsed)) return true
    return ranges.some(([network, prefix]) => network.kind() === parsed.kind() && parsed.match(network, prefix))
  }
}

const isPublic = (address: ipaddr.IPv4 | ipaddr.IPv6) =>
  address.range() === 'unicast' && (!(address instanceof ipaddr.IPv6) || address.match(globalUnicast))

function rangeOf(network: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (network.includes('/')) return ipaddr.parseCIDR(network)
  const address = ipaddr.parse(network)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

/**
 * The look-up function for `net.connect`. The connection goes to one of the addresses that were checked here, so an
 * attack by a name that resolves differently the next time (DNS rebinding) fails. One forbidden address makes the name
 * forbidden.
 */
export const guardedLookup =
  (resolve: Resolve, isAllowed: (address: string) => boolean): LookupFunction =>
  (hostname, options, done) => {
    resolve(hostname, (error, addresses) => {
      const { family } = options
      const wanted =
        addresses?.filter((each) => !family || each.family === Number(`${family}`.replace('IPv', ''))) ?? []
      const [first] = wanted
      if (error || !first) return done(error ?? unknownName(hostname), [])
      if (!addresses.every(({ address }) => isAllowed(address))) return done(forbiddenAddress(), [])
      if (options.all) done(null, wanted)
      else done(null, first.address, first.family)
    })
  }

const unknownName = (hostname: string) => Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' })

export const forbiddenAddress = () =>
  new RequestFailed('forbidden', 'This server does not call addresses of internal networks')
