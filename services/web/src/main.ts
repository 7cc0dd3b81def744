import { runService } from '@parley/service'
import { web } from './service.ts'

await runService('web', () => ({ plugin: web(), usesDatabase: false }), {
  unused: ['auth.jwtSecret', 'database', 'redis'],
})
