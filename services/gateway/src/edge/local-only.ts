import type { Config } from '@parley/config'
import { forbidden } from '@parley/contract'
import { isLocalOnly, refuseForeignHosts } from '@parley/service'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** In dev mode only this machine is let in; a forwarding header is a proxy that lets others in. */
export function refuseStrangers(app: FastifyInstance, config: Pick<Config, 'auth'>): void {
  refuseForeignHosts(app, config)
  if (!isLocalOnly(config)) return
  app.addHook('onRequest', async ({ headers }) => {
    if (isForwarded(headers)) throw forbidden('In dev mode the server answers no request that a proxy forwards')
  })
}

const isForwarded = (headers: FastifyRequest['headers']) =>
  'forwarded' in headers || Object.keys(headers).some((name) => name.startsWith('x-forwarded-'))
