import { runService } from '@parley/service'
import { auth, createFirstStart } from './service.ts'

await runService('auth', (deps) => ({ plugin: auth(deps), ...createFirstStart(deps) }))
