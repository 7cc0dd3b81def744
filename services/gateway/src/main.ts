import { runService } from '@parley/service'
import { clusterGateway } from './service.ts'

await runService('gateway', clusterGateway, { position: 'edge', unused: ['database'] })
