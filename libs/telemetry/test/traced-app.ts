/**
 * A small service that is started with the preload: it calls itself by fetch and by node:http, and says on standard output
 * what it logs. Its parent talks to it over the IPC channel.
 */
import { once } from 'node:events'
import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { createLogger, currentTraceparent, shutdownTracing } from '../src/index.ts'

const logger = createLogger({ service: 'traced-app', level: 'info' })
const app = fastify({ loggerInstance: logger })

app.get('/start/:id', async () => {
  const { port } = app.server.address() as AddressInfo
  const headers = { authorization: 'Bearer S3CRET' }

  const fetched = await fetch(`http://127.0.0.1:${port}/events?token=S3CRET&by=fetch`, { headers })
  await fetched.text()
  const [reply] = await once(
    get({ host: '127.0.0.1', port, path: '/events?token=S3CRET&by=http', headers }),
    'response',
  )
  await once(reply.resume(), 'end')
  logger.info('calls made')

  return { traceparent: currentTraceparent() }
})
app.get('/events', async () => ({}))
app.get('/health/live', async () => 'OK')

await app.listen({ host: '127.0.0.1', port: 0 })
process.send?.((app.server.address() as AddressInfo).port)

process.once('disconnect', async () => {
  await app.close()
  await shutdownTracing()
  process.exit(0)
})
