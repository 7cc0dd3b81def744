import { type Access, bearerToken, type Deps } from '@parley/service'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { type Row, routingTable } from '../routing-table.ts'
import { trackStreams } from './open-streams.ts'
import type { ServiceProxy } from './proxy.ts'

/** What the edge checks. A signature found good is no right yet: that is for the service behind to say. */
const accessOf: Record<Row['token'], Access> = { access: 'token', 'access or query': 'none', own: 'none' }

/** Every row of the routing table as a route that is passed on, its body untouched. */
export const proxiedRoutes =
  ({ tokens, config }: Deps, proxy: ServiceProxy): FastifyPluginAsync =>
  async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))

    const streams = trackStreams(app, config.events)
    const checkStreamToken = async (request: FastifyRequest) => {
      const { token } = request.query as { token?: unknown }
      request.claims = await tokens.verifyAccess(typeof token === 'string' ? token : bearerToken(request))
    }

    for (const row of routingTable) {
      app.route({
        url: row.path,
        method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
        config: { access: accessOf[row.token] },
        schema: { hide: true },
        ...(row.token === 'access or query' && { onRequest: checkStreamToken }),
        async handler(request, reply) {
          if (row.service === 'realtime') streams.add(reply.raw, request.claims.userId)
          await proxy.forward(row, request, reply)
        },
      })
    }
  }
