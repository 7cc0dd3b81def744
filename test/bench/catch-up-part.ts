import { once } from 'node:events'
import { get } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { type Signed, seedPeople } from './people.ts'
import { type Row, spreadText } from './report.ts'
import type { Scene } from './scene.ts'
import { spreadOf } from './statistics.ts'
import { type Stores, startParley } from './stores.ts'

const goalPerSecond = 5_000
const chunk = 1_000

/**
 * How fast a node that is behind delivers what only PostgreSQL still has: the node is frozen while events get their
 * positions, Redis forgets them, and the node goes on.
 */
export async function measureCatchUp(scene: Scene, stores: Stores): Promise<Row[]> {
  const { rounds, events } = { rounds: stores.options.rounds, events: stores.options.catchUpEvents }
  const [person] = await seedPeople(stores, 1)
  await startParley(scene, stores, 'services/worker/src/main.ts')
  const node = await startParley(scene, stores, 'services/realtime/src/main.ts')
  const stream = await scene.keep(
    () => openCountingStream(node.port, person!),
    (opened) => opened.close(),
  )
  const rates: number[] = []
  for (let round = 0; round < rounds; round++) rates.push(await measureRound(stores, node.pid, stream, events))
  const rate = spreadOf(rates)
  return [
    {
      part: 'catchup',
      work: `a node that is ${events.toLocaleString('en')} events behind catches up from PostgreSQL`,
      ours: spreadText(rate, 'events/s'),
      against: 'the goal',
      theirs: `${goalPerSecond.toLocaleString('en')} events/s`,
      ratio: `${(rate.median / goalPerSecond).toFixed(2)}×`,
      goal: `≥ ${goalPerSecond.toLocaleString('en')} events/s`,
      met: rate.median >= goalPerSecond,
      figures: { rates },
    },
  ]
}

async function measureRound(stores: Stores, nodePid: number, stream: CountingStream, events: number) {
  const { pool } = stores.database
  const target = stream.count + events
  process.kill(nodePid, 'SIGSTOP')
  try {
    const position = await topPosition(stores)
    for (let recorded = 0; recorded < events; recorded += chunk) await pool.query(recordEvents, [chunk])
    while ((await topPosition(stores)) < position + events) await delay(50)
    await forgetInRedis(stores.redisUrl)
  } finally {
    process.kill(nodePid, 'SIGCONT')
  }
  const start = performance.now()
  await stream.reached(target)
  return (events / (performance.now() - start)) * 1000
}

const recordEvents = `
  insert into outbox (id, slot, routing, event, trace, created_at)
  select nextval('outbox_ids'), ring.slot, '{"to":"everyone"}',
    '{"type":"UPDATE_SERVER_SETTINGS","payload":{"name":"' || repeat('x', 300) || n || '"}}', null, now_ms()
  from outbox_ring ring, generate_series(1, $1::int) n`

async function topPosition({ database }: Stores): Promise<number> {
  const { rows } = await database.pool.query<{ top: string }>(
    'select coalesce(max(last_pos), 0)::text as top from event_positions',
  )
  return Number(rows[0]!.top)
}

/** Removes the events that Redis keeps, and ends the subscriptions, in whose buffers newer events wait. */
async function forgetInRedis(url: string): Promise<void> {
  const redis = new Redis(url)
  try {
    await redis.flushall()
    await redis.call('client', 'kill', 'type', 'pubsub')
  } finally {
    redis.disconnect()
  }
}

interface CountingStream {
  /** Events received so far. */
  count: number
  /** Resolves when this number of events was received. */
  reached(count: number): Promise<void>
  close(): void
}

/** Counts the events of one stream that have an id. @throws when the stream ends meanwhile. */
async function openCountingStream(port: number, { token }: Signed): Promise<CountingStream> {
  const request = get({ port, path: '/events', headers: { authorization: `Bearer ${token}` } })
  const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream & { statusCode: number }]
  if (response.statusCode !== 200) throw new Error(`the stream was answered by ${response.statusCode}`)
  const waiting: { count: number; resolve: () => void; reject: (error: Error) => void }[] = []
  const stream: CountingStream = {
    count: 0,
    reached: (count) =>
      stream.count >= count
        ? Promise.resolve()
        : new Promise((resolve, reject) => waiting.push({ count, resolve, reject })),
    close: () => request.destroy(),
  }
  let rest = ''
  response.setEncoding('utf8')
  response.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    stream.count += lines.filter((line) => line.startsWith('data: {"type":"UPDATE_SERVER_SETTINGS"')).length
    for (const each of waiting.filter(({ count }) => stream.count >= count)) each.resolve()
  })
  const failed = () => {
    for (const { reject } of waiting) reject(new Error(`the stream ended after ${stream.count} events`))
  }
  response.on('close', failed)
  request.on('error', failed)
  return stream
}
