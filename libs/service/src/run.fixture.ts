/** A process that a test stops. One of its parts never stops. */
import { createLogger } from '@parley/telemetry'
import { onStopSignal } from './run.ts'

onStopSignal(createLogger({ service: 'test', level: 'info' }), 1, {
  requests: () => {},
  connections: () => new Promise(() => {}),
  tracing: () => {},
})
setInterval(() => {}, 60_000)
process.send!('ready')
