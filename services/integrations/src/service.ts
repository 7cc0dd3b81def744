import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { createRequester } from '@parley/requester'
import type { Deps, Service } from '@parley/service'
import { actionRoutes } from './apps/actions.routes.ts'
import { createAppAnswers } from './apps/app-answers.ts'
import { responseRoutes } from './apps/responses.routes.ts'
import { type CallService, servicesOf } from './call-services.ts'
import { commandRoutes } from './commands/commands.routes.ts'
import { runCommandRoutes } from './commands/run-command.routes.ts'
import { hookRoutes } from './hooks/hooks.routes.ts'
import { slackApiRoutes } from './slack-api/slack-api.routes.ts'
import { createDeliverer } from './subscriptions/deliverer.ts'
import { replayRoutes } from './subscriptions/replay.routes.ts'
import { subscriptionRoutes } from './subscriptions/subscriptions.routes.ts'

/** The APIs for other programs. Without `call`, the other services must be mounted on the same app. */
export const integrations =
  (deps: Deps, call?: CallService): FastifyPluginAsyncTypebox =>
  async (app) => {
    const services = call ?? servicesOf(app)
    const requester = createRequester(deps.config.integrations)
    app.addHook('onClose', () => requester.close())
    const apps = { deps, call: services, requester, appAnswers: createAppAnswers(deps, services) }
    await app.register(hookRoutes(deps, services))
    await app.register(subscriptionRoutes(deps, requester))
    await app.register(replayRoutes(deps))
    await app.register(commandRoutes(deps))
    await app.register(runCommandRoutes(apps))
    await app.register(actionRoutes(apps))
    await app.register(responseRoutes(deps, apps.appAnswers))
    await app.register(slackApiRoutes(deps, services))
  }

/** Sends events to subscriptions. Of all processes that run this, only the one with the lease delivers. */
export function subscriptionDelivery(deps: Deps): Required<Pick<Service, 'start' | 'stop'>> {
  const requester = createRequester(deps.config.integrations)
  const deliverer = createDeliverer({ ...deps, requester })
  return {
    async start() {
      deliverer.start()
    },
    async stop() {
      await deliverer.stop()
      await requester.close()
    },
  }
}
