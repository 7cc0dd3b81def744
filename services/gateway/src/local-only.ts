import { type Config, isLoopbackHost } from '@parley/config'
import { forbidden } from '@parley/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/**
 * In dev mode anybody who reaches the server is let in, so only this machine may: a foreign `Host` is another site's
 * name pointed at us (DNS rebinding), a forwarding header is a proxy that lets others in.
 */
export function refuseStrangers(app: FastifyInstance, { auth }: Config): void {
  if (auth.authMode !== 'dev' || auth.allowPublicDevMode) return
  const ownHost = new URL(auth.appUrl).hostname
  app.addHook('onRequest', async ({ headers }) => {
    const host = hostName(headers.host)
    if (host !== ownHost && !isLoopbackHost(host)) {
      throw forbidden('In dev mode the server answers only under a name of this machine, such as localhost')
    }
    if (isForwarded(headers)) throw forbidden('In dev mode the server answers no request that a proxy forwards')
  })
}

/** Without its port; empty for what is no host at all. */
function hostName(host = ''): string {
  return URL.canParse(`http://${host}`) && !/[/?#@\\]/.test(host) ? new URL(`http://${host}`).hostname : ''
}

const isForwarded = (headers: FastifyRequest['headers']) =>
  'forwarded' in headers || Object.keys(headers).some((name) => name.startsWith('x-forwarded-'))
