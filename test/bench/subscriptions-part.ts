import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { anyOf, uuidv7 } from '@parley/database'
import { createSeals } from '@parley/identity'
import { sql } from 'kysely'
import { openPool, postOf } from './http-connection.ts'
import { type Signed, seedChannels, seedMembers, seedPeople } from './people.ts'
import { readProcessorTime, serverProcesses } from './processor-time.ts'
import { type Row, spreadText } from './report.ts'
import type { Scene } from './scene.ts'
import { spreadOf } from './statistics.ts'
import { type Stores, startParley } from './stores.ts'

const matching = 10
const existing = 1_000
const perBot = 10
const messagesPerSecond = 50
/** Changes of subscriptions are read once a second. */
const settleMs = 3_000
const timeoutMs = 20_000
const goal = 1.2

/** The processes that deliver events to subscriptions. */
const carriers = ['integrations', 'worker'] as const
type Carrier = (typeof carriers)[number]
/** Microseconds of processor time of one message. */
type Cost = Record<Carrier, number>

/**
 * Measures the processor time of the processes that deliver events to subscriptions, while messages come at a constant
 * rate: without subscriptions, with ten that get every message, and with these ten among a thousand. Half of the other
 * subscriptions ask for the messages of another channel, and half for other events.
 */
export async function measureSubscriptions(scene: Scene, stores: Stores): Promise<Row[]> {
  const { rounds, seconds } = stores.options
  const receiver = await scene.keep(startReceiver, (started) => started.close())
  const [author, ...bots] = (await seedPeople(stores, 1 + existing / perBot)) as [Signed, ...Signed[]]
  const [channelId, elsewhere] = (await seedChannels(stores, 2)) as [string, string]
  await seedMembers(stores, [{ author, channelId }])
  const ids = await seedSubscriptions(stores, bots, receiver.url, { channelId, elsewhere })
  const parley = await startParley(scene, stores, 'deploy/local/cluster.ts', {
    settings: { integrations: { allowedNetworks: ['127.0.0.1'] } },
  })
  const pids = await serverProcesses(parley.pid)
  const roots = Object.fromEntries(carriers.map((name) => [name, pids[name]!]))
  const api = openPool(parley.port)
  const request = postOf(`/channels/${channelId}/messages`, JSON.stringify({ content: 'a message of usual length' }), {
    Authorization: `Bearer ${author.token}`,
  })

  async function costAmong(count: number, forSeconds: number): Promise<Cost> {
    await letExist(stores, ids, count)
    await delay(settleMs)
    const messages = messagesPerSecond * forSeconds
    const wanted = receiver.count() + messages * Math.min(count, matching)
    const before = await readProcessorTime(roots)
    const [begun, sent]: [number, Promise<{ status: number }>[]] = [performance.now(), []]
    for (let n = 0; n < messages; n++) {
      await delayUntil(begun + (n * 1_000) / messagesPerSecond)
      sent.push(api.send(request))
    }
    const failed = (await Promise.all(sent)).find(({ status }) => status !== 200)
    if (failed) throw new Error(`a message was refused: ${failed.status}`)
    for (const until = performance.now() + timeoutMs; receiver.count() < wanted; await delay(20)) {
      if (performance.now() > until) throw new Error(`${wanted - receiver.count()} events were not delivered`)
    }
    // All sides are measured for the same time, because the processes use some time even when nothing is sent.
    await delayUntil(begun + (forSeconds + 2) * 1_000)
    const after = await readProcessorTime(roots)
    const usOf = (name: Carrier) => ((after[name]! - before[name]!) * 1_000) / messages
    return { integrations: usOf('integrations'), worker: usOf('worker') }
  }

  const costs = new Map<number, Cost[]>([0, matching, existing].map((count) => [count, []]))
  for (const count of costs.keys()) await costAmong(count, 2)
  for (let round = 0; round < rounds; round++) {
    for (const [count, measured] of costs) measured.push(await costAmong(count, seconds))
  }
  api.close()
  return rowsOf(costs)
}

const delayUntil = (moment: number) => delay(Math.max(0, moment - performance.now()))

/** A program that accepts every event. */
async function startReceiver() {
  let taken = 0
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      taken++
      response.writeHead(204).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    count: () => taken,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Writes all subscriptions, each as a deleted one, and returns their ids. The first ones get the messages. */
async function seedSubscriptions(
  { database: { db }, jwtSecret }: Stores,
  bots: readonly Signed[],
  url: string,
  { channelId, elsewhere }: { channelId: string; elsewhere: string },
): Promise<string[]> {
  const now = Date.now()
  const botIds = bots.map(({ userId }) => userId)
  await db.updateTable('users').set({ isBot: true }).where('id', '=', anyOf(botIds)).execute()
  const seals = createSeals([jwtSecret])
  const rows = Array.from({ length: existing }, (_, n) => {
    const botId = botIds[n % botIds.length]!
    const sealedSecret = seals.seal(`whsec_${randomBytes(24).toString('base64')}`)
    const isForMessages = n < matching || n % 2 === 0
    return {
      id: uuidv7(),
      botId,
      createdBy: botId,
      url,
      events: isForMessages ? ['NEW_MESSAGE'] : ['NEW_CHANNEL', 'UPDATE_CHANNEL'],
      channelIds: n < matching ? [channelId] : isForMessages ? [elsewhere] : null,
      sealedSecret,
      epoch: '',
      pos: 0,
      createdAt: now,
      updatedAt: now,
      deletedAt: now,
    }
  })
  await db.insertInto('subscriptions').values(rows).execute()
  return rows.map(({ id }) => id)
}

/** Makes this number of subscriptions exist; they begin with the next event. */
async function letExist({ database: { db } }: Stores, ids: readonly string[], count: number): Promise<void> {
  await sql`
    update subscriptions s set deleted_at = case when s.id = any(${ids.slice(0, count)}::uuid[]) then null else ${Date.now()}::bigint end,
      updated_at = ${Date.now()}, pos = l.pos, epoch = l.epoch, generation = generation + 1
    from relay_lease l`.execute(db)
}

function rowsOf(costs: ReadonlyMap<number, readonly Cost[]>): Row[] {
  const total = ({ integrations, worker }: Cost) => integrations + worker
  const spread = (count: number, of: (cost: Cost) => number = total) => spreadOf(costs.get(count)!.map(of))
  const ratio = spreadOf(costs.get(existing)!.map((cost, round) => total(cost) / total(costs.get(matching)![round]!)))
  const cell = (count: number, name: Carrier) =>
    spreadText(
      spread(count, (cost) => cost[name]),
      'µs',
    )
  return [
    {
      part: 'subscriptions',
      work: `processor time of one message, integrations and worker together, ${messagesPerSecond} a second, ${existing.toLocaleString('en')} subscriptions of which ${matching} get it`,
      ours: spreadText(spread(existing), 'µs'),
      against: `these ${matching} alone`,
      theirs: spreadText(spread(matching), 'µs'),
      ratio: `${ratio.median.toFixed(2)}× (${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)})`,
      goal: `≤ ${goal.toFixed(1)}×`,
      met: ratio.median <= goal,
      figures: Object.fromEntries(costs),
      details: [
        '### Processor time of one message, by the number of subscriptions',
        '',
        '| Subscriptions | integrations | worker |',
        '|---|---|---|',
        ...[...costs.keys()].map((count) => `| ${count} | ${cell(count, 'integrations')} | ${cell(count, 'worker')} |`),
      ].join('\n'),
    },
  ]
}
