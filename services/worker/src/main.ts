import { runService } from '@parley/service'
import { worker } from './service.ts'

await runService('worker', worker, { unused: ['auth.jwtSecret'] })
