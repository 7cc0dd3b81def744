import { runService, storageCheck } from '@parley/service'
import { directory } from './service.ts'

await runService('directory', (deps) => ({ plugin: directory(deps), checks: storageCheck(deps) }))
