import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Deps } from '@parley/service'
import { auditLogRoutes } from './audit-log/audit-log.routes.ts'
import { exportRoutes } from './exports/exports.routes.ts'
import { settingsRoutes } from './settings/settings.routes.ts'
import { webhookRoutes } from './webhooks/webhooks.routes.ts'

/** The service for administration: settings, webhooks, audit log and exports. */
export const admin =
  (deps: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    await app.register(settingsRoutes(deps))
    await app.register(auditLogRoutes(deps))
    await app.register(webhookRoutes(deps))
    await app.register(exportRoutes(deps))
  }
