import { runService } from '@parley/service'
import { admin } from './service.ts'

await runService('admin', (deps) => ({ plugin: admin(deps) }))
