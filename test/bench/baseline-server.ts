/**
 * Sends of Parley are compared with this server. It has two bare Fastify routes: one does a single prepared INSERT and
 * nothing else that a message needs, the other does nothing at all. Arguments: PostgreSQL URL, port.
 */
import { connectDatabase, uuidv7 } from '@parley/database'
import Fastify from 'fastify'

const [url, port] = process.argv.slice(2)
const { pool, close } = connectDatabase({ url: url!, poolSize: 10, applicationName: 'baseline', onIdleError: () => {} })
await pool.query(
  'create table inserts (id uuid primary key, channel_id uuid not null, content text not null, created_at bigint not null)',
)

const app = Fastify()
const text = 'insert into inserts (id, channel_id, content, created_at) values ($1, $2, $3, $4)'
app.get('/health/ready', async () => 'OK')
app.post('/empty', async () => ({ id: '' }))
app.post<{ Params: { channelId: string }; Body: { content: string } }>(
  '/channels/:channelId/messages',
  async ({ params, body }) => {
    const id = uuidv7()
    await pool.query({ name: 'insert', text, values: [id, params.channelId, body.content, Date.now()] })
    return { id }
  },
)
await app.listen({ host: '127.0.0.1', port: Number(port), backlog: 4096 })

process.once('SIGTERM', async () => {
  await app.close()
  await close()
  process.exit(0)
})
