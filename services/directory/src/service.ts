import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Deps } from '@parley/service'
import { avatarRoutes } from './avatars/avatars.routes.ts'
import { channelRoutes } from './channels/channels.routes.ts'
import { administrationRoutes } from './people/administration.routes.ts'
import { peopleRoutes } from './people/people.routes.ts'
import { presenceRoutes } from './presence/presence.routes.ts'

/** People, channels, and who belongs to which channel. */
export const directory =
  (deps: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    await app.register(peopleRoutes(deps))
    await app.register(administrationRoutes(deps))
    await app.register(avatarRoutes(deps))
    await app.register(channelRoutes(deps))
    await app.register(presenceRoutes(deps))
  }
