import { runService } from '@parley/service'
import { distributedGateway } from './service.ts'

await runService('gateway', distributedGateway, { position: 'edge' })
