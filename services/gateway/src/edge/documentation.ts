import swaggerUi from '@fastify/swagger-ui'
import { notFound, unavailable } from '@parley/contract'
import { DescribeApi } from '@parley/service'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { type RoutedService, routedServices } from '../routing-table.ts'

interface DocumentationOptions {
  /** Returns the OpenAPI document of the whole server. */
  describe(app: FastifyInstance): Promise<object>
}

// The page loads its scripts and styles from files, and its elements have style attributes.
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
  summary: 'Redirect to the documentation, on a server without the web client',
  response: { 302: { type: 'null', description: 'A redirect to /docs' } },
}
const ReadDocumentation = {
  summary: 'Read this description as a page',
  response: { 200: { description: 'The page', content: { 'text/html': { schema: { type: 'string' } } } } },
}

/** `GET /openapi.json`, and the page `GET /docs`. On a server without the web client, `/` redirects to it. */
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
        // The layout has no top bar. The list is collapsed, because there are many routes.
        uiConfig: { layout: 'BaseLayout', docExpansion: 'list', deepLinking: true },
        theme: { title: 'Parley API' },
        uiHooks: {
          // The plugin's own document has only the routes of this process.
          async preHandler({ routeOptions }, reply) {
            if (routeOptions.url === '/docs/json') return reply.send(await describe(app))
            if (routeOptions.url === '/docs/yaml') throw notFound('address')
          },
        },
      })
    })
  }

/** The parts of an OpenAPI document that differ between services. */
export interface OpenApi {
  paths?: Record<string, object>
  components?: Record<string, object>
}

/**
 * Merges the API descriptions of all services and of the gateway itself into one document. `fetchDescription` returns
 * that of one service.
 * @throws ApiError 503 when a service does not answer.
 */
export async function describeServices(
  fetchDescription: (service: RoutedService) => Promise<string>,
  own: OpenApi,
): Promise<OpenApi> {
  const texts = await Promise.all(routedServices.map(fetchDescription)).catch(() => {
    throw unavailable('Not every service answers right now. Please try again')
  })
  return mergeDescriptions([...texts.map((text) => JSON.parse(text) as OpenApi), own])
}

/**
 * Merges documents with disjoint paths or methods. Everything else is the same in all of them, and is taken from the
 * first one.
 */
function mergeDescriptions(documents: readonly OpenApi[]): OpenApi {
  return {
    ...documents[0],
    paths: merge(documents.map(({ paths = {} }) => paths)),
    components: merge(documents.map(({ components = {} }) => components)),
  }
}

/** Merges the values that have the same name. */
function merge(sources: readonly Record<string, object>[]): Record<string, object> {
  const merged: Record<string, object> = {}
  for (const source of sources) {
    for (const [name, value] of Object.entries(source)) merged[name] = { ...merged[name], ...value }
  }
  return merged
}
