import { runService, storageCheck } from '@parley/service'
import { messaging } from './service.ts'

await runService('messaging', (deps) => ({ plugin: messaging(deps), checks: storageCheck(deps) }))
