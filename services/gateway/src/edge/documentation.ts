import swaggerUi from '@fastify/swagger-ui'
import { notFound } from '@parley/contract'
import { DescribeApi } from '@parley/service'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'

export interface DocumentationOptions {
  /** Answers the OpenAPI document of the whole service. */
  describe(app: FastifyInstance): Promise<object>
}

// The page brings its scripts and styles as files; what it draws carries style attributes.
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const LeadToDocumentation = {
  summary: 'Leads to the documentation, until there is a web client',
  response: { 302: { type: 'null', description: 'A redirect to /docs' } },
}
const ReadDocumentation = {
  summary: 'This description as a page for people',
  response: { 200: { description: 'The page', content: { 'text/html': { schema: { type: 'string' } } } } },
}

/** `GET /openapi.json`, and `GET /docs` to read it without a network. Until there is a web client, `/` leads there. */
export const documentation =
  ({ describe }: DocumentationOptions): FastifyPluginAsync =>
  async (app) => {
    const config = { access: 'none' } as const
    app.get('/', { config, schema: LeadToDocumentation }, async (_request, reply) => reply.redirect('/docs'))
    app.get('/openapi.json', { config, schema: DescribeApi }, async () => describe(app))

    await app.register(async (page) => {
      page.addHook('onRoute', (route) => {
        route.config = { ...route.config, access: 'none' }
        if (route.url === '/docs') route.schema = ReadDocumentation
      })
      await page.register(swaggerUi, {
        routePrefix: '/docs',
        staticCSP: pagePolicy,
        // Without the bar of the page's maker; folded, because there are many routes.
        uiConfig: { layout: 'BaseLayout', docExpansion: 'list', deepLinking: true },
        theme: { title: 'Parley API' },
        uiHooks: {
          // The plugin knows the routes of this process only.
          async preHandler({ routeOptions }, reply) {
            if (routeOptions.url === '/docs/json') return reply.send(await describe(app))
            if (routeOptions.url === '/docs/yaml') throw notFound('address')
          },
        },
      })
    })
  }
