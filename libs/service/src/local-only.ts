import { type Config, isLoopbackHost } from '@parley/config'
import { forbidden } from '@parley/contract'
import type { FastifyInstance } from 'fastify'

/** In dev mode anybody who reaches the server is let in, so only this machine may, unless the operator said otherwise. */
export const isLocalOnly = ({ auth }: Pick<Config, 'auth'>) => auth.authMode === 'dev' && !auth.allowPublicDevMode

/**
 * In dev mode a foreign `Host` is another site's name pointed at us (DNS rebinding): its pages would be of our origin. Holds
 * for every process, for a browser reaches each port of this machine.
 */
export function refuseForeignHosts(app: FastifyInstance, config: Pick<Config, 'auth'>): void {
  if (!isLocalOnly(config)) return
  const ownHost = new URL(config.auth.appUrl).hostname
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    const host = hostName(headers.host)
    if (host === ownHost || isLoopbackHost(host)) return done()
    done(forbidden('In dev mode the server answers only under a name of this machine, such as localhost'))
  })
}

/** Without its port; empty for what is no host at all. */
function hostName(host = ''): string {
  return URL.canParse(`http://${host}`) && !/[/?#@\\]/.test(host) ? new URL(`http://${host}`).hostname : ''
}
