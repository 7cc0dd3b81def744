import {
  type Access,
  bearerToken,
  clientOf,
  type Deps,
  distinguishPages,
  onlyForPages,
  type RefusalForm,
  refuseAs,
  scimForm,
  slackForm,
  webhookForm,
} from '@parley/service'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { isEventStream, type Row, routingTable } from '../routing-table.ts'
import { trackEventStreams } from './event-streams.ts'
import type { ServiceProxy } from './proxy.ts'

/**
 * The gateway's check for each kind of token. A valid signature grants no right: the service decides. API tokens have
 * no signature.
 */
const accessOf: Record<Row['token'], Access> = {
  access: 'claims',
  'access or query': 'none',
  'access or cookie': 'claims',
  own: 'none',
}

const formOf: Record<NonNullable<Row['refusals']>, RefusalForm> = {
  scim: scimForm,
  slack: slackForm,
  webhook: webhookForm,
}

/** One route for each row of the routing table. Requests are passed on to the service with their body untouched. */
export const proxiedRoutes =
  ({ tokens, config }: Deps, proxy: ServiceProxy): FastifyPluginAsync =>
  async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))

    const streams = trackEventStreams(app, config.events)
    const checkStreamToken = async (request: FastifyRequest) => {
      const { token } = request.query as { token?: unknown }
      request.claims = await tokens.verifyAccess(typeof token === 'string' ? token : bearerToken(request))
    }

    /** Reads the token for the rate limit. The service decides about it, and also takes a token in the arguments of a call. */
    const readSlackToken = async (request: FastifyRequest) => {
      const read = async () => tokens.verifyAccess(bearerToken(request))
      const claims = await read().catch(() => undefined)
      if (claims) request.claims = claims
    }

    distinguishPages(app)
    const hasWeb = config.gateway.upstreams.web.length > 0
    for (const row of routingTable) {
      if (row.service === 'web' && !hasWeb) continue
      app.route({
        url: row.path,
        method: row.service === 'web' ? ['GET', 'HEAD'] : ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
        config: {
          access: accessOf[row.token],
          orCookie: row.token === 'access or cookie',
          isWebClient: row.service === 'web',
        },
        schema: { hide: true },
        ...(row.isPage && { constraints: onlyForPages }),
        ...(row.token === 'access or query' && { onRequest: checkStreamToken }),
        ...(row.refusals === 'slack' && { onRequest: readSlackToken }),
        ...(row.refusals && { errorHandler: refuseAs(formOf[row.refusals]) }),
        async handler(request, reply) {
          if (isEventStream(row)) streams.add(reply.raw, clientOf(request))
          await proxy.forward(row, request, reply)
        },
      })
    }
  }
