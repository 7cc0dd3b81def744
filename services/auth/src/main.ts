import { runService } from '@parley/service'
import { createFirstStart } from './first-start.ts'
import { auth } from './service.ts'

await runService('auth', (deps) => ({ plugin: auth(deps), ...createFirstStart(deps) }))
