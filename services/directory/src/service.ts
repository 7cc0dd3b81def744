import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Deps } from '@parley/service'
import { avatarRoutes } from './avatars/avatars.routes.ts'
import { botRoutes } from './bots/bots.routes.ts'
import { channelRoutes } from './channels/channels.routes.ts'
import { groupRoutes } from './groups/groups.routes.ts'
import { administrationRoutes } from './people/administration.routes.ts'
import { customStatusRoutes } from './people/custom-status.routes.ts'
import { notificationSettingsRoutes } from './people/notification-settings.routes.ts'
import { peopleRoutes } from './people/people.routes.ts'
import { peopleSecondFactorsRoutes } from './people/people-second-factors.routes.ts'
import { peopleSessionsRoutes } from './people/people-sessions.routes.ts'
import { presenceRoutes } from './presence/presence.routes.ts'
import { scimRoutes } from './scim/scim.routes.ts'

/** People, channels, and who belongs to which channel. */
export const directory =
  (deps: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    await app.register(peopleRoutes(deps))
    await app.register(customStatusRoutes(deps))
    await app.register(notificationSettingsRoutes(deps))
    await app.register(administrationRoutes(deps))
    await app.register(peopleSessionsRoutes(deps))
    await app.register(peopleSecondFactorsRoutes(deps))
    await app.register(avatarRoutes(deps))
    await app.register(botRoutes(deps))
    await app.register(channelRoutes(deps))
    await app.register(groupRoutes(deps))
    await app.register(presenceRoutes(deps))
    await app.register(scimRoutes(deps), { prefix: '/scim/v2' })
  }
