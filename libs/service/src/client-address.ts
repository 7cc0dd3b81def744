import { isIP } from 'node:net'
import type { FastifyInstance } from 'fastify'

/**
 * Tidies `X-Forwarded-For` before anybody reads it: some proxies write the client's port beside its address, and one client would
 * count as another with each connection. What stands before something that is no address is left out: no proxy of ours wrote it.
 */
export function tidyForwardedAddresses(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw: { headers } }, _reply, done) => {
    const given = headers['x-forwarded-for']
    if (given !== undefined) headers['x-forwarded-for'] = addressesIn(String(given)).join(', ')
    done()
  })
}

function addressesIn(list: string): string[] {
  const addresses = list.split(',').map((entry) => withoutPort(entry.trim()))
  const lastBad = addresses.findLastIndex((address) => !isIP(address))
  return addresses.slice(lastBad + 1)
}

/** `1.2.3.4:5678` is 1.2.3.4, `[2001:db8::1]:5678` is 2001:db8::1. A zone (`%eth0`) is dropped too. */
function withoutPort(entry: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(entry) ?? []
  return (bracketed ?? plain ?? entry).replace(/%.*$/, '')
}
