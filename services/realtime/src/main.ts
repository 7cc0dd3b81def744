import { runService } from '@parley/service'
import { realtime } from './service.ts'

await runService('realtime', realtime)
