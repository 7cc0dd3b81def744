import { isIP } from 'node:net'
import { type Config, isLoopbackHost } from '@parley/config'
import { forbidden } from '@parley/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/**
 * Whether only this machine may reach the server. In dev mode everybody can sign in, so other machines are refused
 * unless the operator allows them.
 */
export const isLocalOnly = ({ auth }: Pick<Config, 'auth'>) => auth.authMode === 'dev' && !auth.allowPublicDevMode

/**
 * Refuses a foreign `Host` in dev mode. It would be the name of another site that resolves to this machine (DNS
 * rebinding), and the pages of that site would have our origin. Every process does this, because a browser on this
 * machine can reach each port.
 */
export function refuseForeignHosts(app: FastifyInstance, config: Pick<Config, 'auth'>): void {
  if (!isLocalOnly(config)) return
  const ownHost = new URL(config.auth.appUrl).hostname
  // Almost every request has the same header, so the last accepted one is remembered.
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
 * Normalises `X-Forwarded-For` before it is read. Some proxies write the client's port beside its address. With the
 * port, the same client would count as a new one with each connection. Entries before an invalid one are dropped,
 * because no trusted proxy wrote them.
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

/** Converts `1.2.3.4:5678` to 1.2.3.4 and `[2001:db8::1]:5678` to 2001:db8::1. Also removes a zone (`%eth0`). */
function withoutPort(entry: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(entry) ?? []
  return (bracketed ?? plain ?? entry).replace(/%.*$/, '')
}

/**
 * The client address of a call of one service to another one in the same app (solo). No connection can have it, because
 * it is not an IP address.
 */
export const insideAddress = 'inside'

/** Whether the request comes from a service in the same app. The limits already counted the request that caused it. */
export const isFromInside = ({ raw }: Pick<FastifyRequest, 'raw'>): boolean =>
  raw.socket.remoteAddress === insideAddress
