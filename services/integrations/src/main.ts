import { runService } from '@parley/service'
import { connectServices } from './call-services.ts'
import { integrations, subscriptionDelivery } from './service.ts'

await runService('integrations', (deps) => {
  const services = connectServices(deps.config)
  const delivery = subscriptionDelivery(deps)
  return {
    plugin: integrations(deps, services.call),
    start: delivery.start,
    async stop() {
      await delivery.stop()
      await services.close()
    },
  }
})
