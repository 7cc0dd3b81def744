/**
 * A small service that is started with the preload. It calls itself by fetch and by node:http, asks PostgreSQL and Redis
 * (whose URLs are its arguments), and logs to standard output. Its parent ends it by closing the IPC channel.
 */
import { once } from 'node:events'
import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { Redis } from 'ioredis'
import pg from 'pg'
import { createLogger, createMetrics, currentTraceparent, inSpan, metric, shutdownTelemetry } from '../src/index.ts'

const [, , databaseUrl = '', redisUrl = ''] = process.argv
const pool = new pg.Pool({ connectionString: databaseUrl })
const redis = new Redis(redisUrl, { lazyConnect: true })

const logger = createLogger({ service: 'traced-app', level: 'info' })
const metrics = createMetrics({ service: 'traced-app', logger })
metrics.counter(metric.eventsRelayed).with().add()
const app = fastify({ loggerInstance: logger })

app.get('/calls/:id', async () => {
  const { port } = app.server.address() as AddressInfo
  const headers = { authorization: 'Bearer S3CRET' }

  const fetched = await fetch(`http://127.0.0.1:${port}/events?token=S3CRET&by=fetch`, { headers })
  await fetched.text()
  const [reply] = await once(
    get({ host: '127.0.0.1', port, path: '/events?token=S3CRET&by=http', headers }),
    'response',
  )
  await once(reply.resume(), 'end')
  logger.info({ password: 'S3CRET' }, 'calls made')

  return { traceparent: currentTraceparent() }
})

app.post('/parts', async () => {
  await pool.query('select $1::text as kept', ['S3CRET'])
  await redis.set('kept', 'S3CRET')
  return { traceparent: currentTraceparent() }
})

app.post('/later', async (request) => {
  const { traceparent } = request.body as { traceparent: string }
  return inSpan('relay.publish', { parent: traceparent }, async () => {
    await redis.publish('events', 'S3CRET')
    return { traceparent: currentTraceparent() }
  })
})

app.get('/events', async () => ({}))
app.get('/health/live', async () => 'OK')

// Work outside of a request must not begin a trace. The relay, for instance, queries the outbox all the time.
if (databaseUrl) await pool.query('select 1 as unasked')

await app.listen({ host: '127.0.0.1', port: 0 })
process.send?.((app.server.address() as AddressInfo).port)

process.once('disconnect', async () => {
  await app.close()
  await Promise.all([pool.end(), redis.disconnect()])
  await metrics.close()
  await shutdownTelemetry()
  process.exit(0)
})
