import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'

/** Collects the OpenAPI 3.1 description of the routes registered after it; `app.swagger()` answers it. */
export async function describeApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Parley',
        description: 'Team chat: channels, messages, threads, direct messages, webhooks and a resumable event stream.',
        version: '1',
      },
      components: {
        securitySchemes: {
          accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
          webhookToken: { type: 'http', scheme: 'bearer', description: 'The token of the webhook that posts' },
        },
      },
    },
    transform: ({ schema, url, route }) => ({
      url,
      schema: {
        ...schema,
        tags: [chapterOf(url)],
        ...((route.config?.access ?? 'user') === 'none' ? {} : { security: [{ accessToken: [] }] }),
        'x-access': route.config?.access ?? 'user',
      },
    }),
  })
}

/** Routes are listed by what they are about: the first word of their path. */
const chapterOf = (url: string) => /^\/([\w-]+)/.exec(url)?.[1] ?? 'other'

/** `GET /openapi.json`: the description of this app's own routes. A distributed gateway puts those of all services together. */
export function answerOpenApi(app: FastifyInstance): void {
  app.get('/openapi.json', { config: { access: 'none' }, schema: { hide: true } }, async () => app.swagger())
}
