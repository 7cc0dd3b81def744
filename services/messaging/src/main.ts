import { runService } from '@parley/service'
import { messaging } from './service.ts'

await runService('messaging', (deps) => ({ plugin: messaging(deps) }))
