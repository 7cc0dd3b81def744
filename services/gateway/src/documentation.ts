import swaggerUi from '@fastify/swagger-ui'
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

/** `GET /openapi.json`, and `GET /docs` to read it without a network. Until there is a web client, `/` leads there. */
export const documentation =
  ({ describe }: DocumentationOptions): FastifyPluginAsync =>
  async (app) => {
    const open = { config: { access: 'none' }, schema: { hide: true } } as const
    app.get('/', open, async (_request, reply) => reply.redirect('/docs'))
    app.get('/openapi.json', open, async () => describe(app))

    await app.register(async (page) => {
      page.addHook('onRoute', (route) => {
        route.config = { ...route.config, access: 'none' }
      })
      await page.register(swaggerUi, {
        routePrefix: '/docs',
        staticCSP: pagePolicy,
        // Without the bar of the page's maker; folded, because there are many routes.
        uiConfig: { layout: 'BaseLayout', docExpansion: 'list', deepLinking: true },
        theme: { title: 'Parley API' },
        uiHooks: {
          // The page reads this address; the plugin itself knows the routes of this process only.
          preHandler: async ({ routeOptions }, reply) =>
            routeOptions.url === '/docs/json' ? reply.send(await describe(app)) : undefined,
        },
      })
    })
  }
