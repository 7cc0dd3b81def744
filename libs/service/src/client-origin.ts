import { isIP } from 'node:net'
import { type Config, isLoopbackHost } from '@parley/config'
import { forbidden } from '@parley/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** Whether only this machine may reach the server: in dev mode everybody is let in, so nobody else may, unless the operator allows it. */
export const isLocalOnly = ({ auth }: Pick<Config, 'auth'>) => auth.authMode === 'dev' && !auth.allowPublicDevMode

/**
 * Refuses a foreign `Host` in dev mode. It would be the name of another site that points at this machine (DNS rebinding), whose pages
 * would have our origin. Every process does this, because a browser on this machine reaches each port.
 */
export function refuseForeignHosts(app: FastifyInstance, config: Pick<Config, 'auth'>): void {
  if (!isLocalOnly(config)) return
  const ownHost = new URL(config.auth.appUrl).hostname
  // Almost every request has the same header.
  let lastAccepted: string | undefined
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    if (headers.host !== undefined && headers.host === lastAccepted) return done()
    const host = hostName(headers.host)
    if (host === ownHost || isLoopbackHost(host)) {
      lastAccepted = headers.host
      return done()
    }
    done(forbidden('In dev mode the server answers only under a name of this machine, such as localhost'))
  })
}

/** The host without its port; empty when it is not a valid host. */
function hostName(host = ''): string {
  return URL.canParse(`http://${host}`) && !/[/?#@\\]/.test(host) ? new URL(`http://${host}`).hostname : ''
}

/**
 * Normalises `X-Forwarded-For` before it is read. Some proxies write the client's port beside its address, so the same client would
 * count as a new one with each connection. Entries before one that is no address are dropped: no trusted proxy wrote them.
 */
export function normaliseForwardedAddresses(app: FastifyInstance): void {
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

/** Turns `1.2.3.4:5678` into 1.2.3.4 and `[2001:db8::1]:5678` into 2001:db8::1. Drops a zone (`%eth0`) too. */
function withoutPort(entry: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(entry) ?? []
  return (bracketed ?? plain ?? entry).replace(/%.*$/, '')
}

/**
 * The address from which a service calls another one on the same app (solo). No connection has it, because it is no address of a network.
 */
export const insideAddress = 'inside'

/** Whether the request comes from a service on the same app. What it follows from has been limited already. */
export const isFromInside = ({ raw }: Pick<FastifyRequest, 'raw'>): boolean =>
  raw.socket.remoteAddress === insideAddress
