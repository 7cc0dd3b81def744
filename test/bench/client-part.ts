import 'fake-indexeddb/auto'
import {
  createClient,
  createSyncEngine,
  type Store,
  type SyncEngine,
  storeInIndexedDb,
  tokensInMemory,
} from '@parley/client'
import { Agent, request } from 'undici'
import { bundledBytes, coreGoalBytes, coreNames } from './client-bundle.ts'
import { joinedChannels, type LargeServer, seedLargeServer, sizeOf, talkToFirst } from './client-seed.ts'
import { measureClientStorms } from './client-storm.ts'
import { type CountingProxy, startCountingProxy } from './counting-proxy.ts'
import type { Signed } from './people.ts'
import { grouped, type Row } from './report.ts'
import type { Scene } from './scene.ts'
import { spreadOf } from './statistics.ts'
import { type Stores, startParley } from './stores.ts'

const coldGoalBytes = 300_000
const applyGoalMs = 100
const stormAtOnce = 64
/**
 * Clients that fetch everything. Only these are measured and their bytes and time are multiplied, because all clients
 * would take an hour.
 */
const fetchingAll = 3

/** What `libs/client` costs on a large server: its first start, a start from its store, one change, and a surge of starts. */
export async function measureClient(scene: Scene, stores: Stores): Promise<Row[]> {
  const server = await seedLargeServer(stores, stores.options.clientStorm)
  const parley = await startParley(scene, stores, 'deploy/local/solo.ts')
  const api = await scene.keep(
    () => new Agent({ connections: stormAtOnce }),
    (agent) => agent.close(),
  )
  const address = `http://127.0.0.1:${parley.port}`
  await talkToFirst((route, body, token) => ask(api, `${address}${route}`, token, body), server)
  const proxy = await scene.keep(
    () => startCountingProxy(parley.port),
    (started) => started.close(),
  )
  const { rows, routes } = await measureStarts(stores, proxy, server)
  return [
    await measureSize(),
    ...rows,
    await measureSurge(stores, api, address, server, routes),
    ...(await measureClientStorms({
      scene,
      stores,
      parley,
      server,
      fetchAnew: (api, token) => fetchAll(api, address, token, routes),
    })),
  ]
}

const kilobytes = (bytes: number) => `${(bytes / 1_000).toFixed(1)} KB`

async function measureSize(): Promise<Row> {
  const [core, all] = [await bundledBytes(coreNames), await bundledBytes(['*'])]
  return {
    part: 'client',
    work: 'libs/client: requests, session, stream, sync engine and outbox, minified, gzip',
    ours: kilobytes(core),
    against: 'with IndexedDB and tabs',
    theirs: kilobytes(all),
    ratio: '–',
    goal: `≤ ${kilobytes(coreGoalBytes)}`,
    met: core <= coreGoalBytes,
    figures: { core, all },
  }
}

interface Start {
  bytes: number
  requests: string[]
  /** Requests of the client except the stream, each with its query. */
  routes: string[]
  /** Until everything that a page shows at its start has arrived. */
  ms: number
  /** Processor time of this process: JSON.parse, applying the data, the store, and the requests themselves. */
  processorMs: number
}

async function measureStarts(
  { options }: Stores,
  proxy: CountingProxy,
  server: LargeServer,
): Promise<{ rows: Row[]; routes: string[] }> {
  const cold: Start[] = []
  const warm: Start[] = []
  let told: string[] = []
  for (let round = 0; round < options.rounds; round++) {
    const store = () => storeInIndexedDb(`bench ${round}`)
    cold.push(await measureStart(proxy, server, store(), async (engine) => void (await engine.save())))
    warm.push(
      await measureStart(proxy, server, store(), async (engine) => {
        told = await keysToldByOneChange(engine, proxy, server)
      }),
    )
  }
  const [bytes, warmBytes, processor] = [
    spreadOf(cold.map((start) => start.bytes)),
    spreadOf(warm.map((start) => start.bytes)),
    spreadOf(cold.map((start) => start.processorMs)),
  ]
  const ms = (starts: Start[]) => `${spreadOf(starts.map((start) => start.ms)).median.toFixed(0)} ms`
  const row = (work: string, ours: string, goal: string, met: boolean, figures: unknown): Row => ({
    part: 'client',
    work: `${work}, ${sizeOf(options)}`,
    ours,
    against: '–',
    theirs: '–',
    ratio: '–',
    goal,
    met,
    figures,
  })
  const rows = [
    row(
      'cold start to the newest messages of a channel, on the wire',
      `${kilobytes(bytes.median)} in ${cold[0]!.requests.length} requests, ${ms(cold)}`,
      `≤ ${kilobytes(coldGoalBytes)}`,
      bytes.median <= coldGoalBytes,
      cold,
    ),
    row(
      'warm start from the store, on the wire',
      `${kilobytes(warmBytes.median)}: ${warm.at(-1)!.requests.join(', ')}; ${ms(warm)}`,
      'nothing but the stream',
      warm.every(({ requests }) => requests.every((each) => each === 'GET /events')),
      warm,
    ),
    row(
      'processor time of a cold start: JSON.parse, applying, storing, requests',
      `${processor.median.toFixed(0)} ms (${processor.low.toFixed(0)}–${processor.high.toFixed(0)})`,
      `≤ ${applyGoalMs} ms`,
      processor.median <= applyGoalMs,
      processor,
    ),
    row('keys told when one message is edited', `${told.length}`, '1', told.length === 1, told),
  ]
  return { rows, routes: cold.at(-1)!.routes }
}

async function measureStart(
  proxy: CountingProxy,
  { clients, channelId }: LargeServer,
  store: Store,
  then: (engine: SyncEngine) => Promise<void>,
): Promise<Start> {
  const { token, userId } = clients[0]!
  const requests: string[] = []
  const routes: string[] = []
  const client = createClient({
    baseUrl: `http://127.0.0.1:${proxy.port}`,
    tokens: tokensInMemory({ accessToken: token }),
    fetch(input, init) {
      const { pathname, search } = new URL(String(input))
      requests.push(`${init?.method ?? 'GET'} ${pathname}`)
      if (pathname !== '/events') routes.push(pathname + search)
      return fetch(input, init)
    },
  })
  const before = proxy.received
  const processor = process.cpuUsage()
  const begun = performance.now()
  const { promise: connected, resolve } = Promise.withResolvers<void>()
  const onConnection = (isOpen: boolean) => isOpen && resolve()
  const engine = createSyncEngine({ client, userId, store, scope: 'joined', onConnection })
  try {
    await engine.ready
    await engine.openMessages(channelId)
    const ms = performance.now() - begun
    if (engine.channelIds().length < joinedChannels) throw new Error(`only ${engine.channelIds().length} are joined`)
    await connected
    const { user, system } = process.cpuUsage(processor)
    const start = {
      bytes: proxy.received - before,
      requests: [...requests],
      routes: [...routes],
      ms,
      processorMs: (user + system) / 1_000,
    }
    await then(engine)
    return start
  } finally {
    engine.close()
  }
}

/** Every key to which a view of a program can subscribe. */
async function keysToldByOneChange(
  engine: SyncEngine,
  proxy: CountingProxy,
  { clients, channelId }: LargeServer,
): Promise<string[]> {
  const message = engine.messages(channelId)!.at(-1)!
  const places = [...engine.channelIds(), ...engine.conversationIds()]
  const keys = [
    ...places.flatMap((id) => [`place:${id}`, `messages:${id}`, `pins:${id}`, `outbox:${id}`]),
    ...engine.messages(channelId)!.map(({ id }) => `message:${id}`),
    ...[
      'channels',
      'conversations',
      'users',
      'unread',
      'settings',
      'me',
      'outbox',
      'presence',
      'webhooks',
      'connection',
    ],
  ]
  const told: string[] = []
  const ends = keys.map((key) => engine.subscribe(key, () => told.push(key)))
  const changed = new Promise<void>((resolve) => {
    ends.push(engine.subscribe(`message:${message.id}`, () => setImmediate(resolve)))
  })
  const author = clients.find(({ userId }) => userId === message.author.id)!
  const client = createClient({
    baseUrl: `http://127.0.0.1:${proxy.port}`,
    tokens: tokensInMemory({ accessToken: author.token }),
  })
  await client.request('PUT /messages/:messageId', {
    params: { messageId: message.id },
    body: { content: `changed at ${Date.now()}` },
  })
  await changed
  for (const end of ends) end()
  return told
}

interface Fetched {
  bytes: number
  seconds: number
}

const allRoutes = ['/users', '/channels', '/conversations', '/server/settings', '/presence']

/** All clients start without stored data, 64 at a time: each fetches what it shows at its start. */
async function measureSurge(
  { options }: Stores,
  api: Agent,
  address: string,
  { clients }: LargeServer,
  routes: string[],
): Promise<Row> {
  const few = clients.slice(0, fetchingAll)
  const fetchAs = (people: Signed[], routes: string[]) => fetchAtOnce(api, address, people, routes)
  await fetchAs(few, routes)
  const ours = await fetchAs(clients, routes)
  const theirs = await fetchAs(few, allRoutes)
  const share = clients.length / few.length
  const text = ({ bytes, seconds }: Fetched, times = 1) =>
    `${grouped(Math.round((bytes * times) / 1e6))} MB in ${(seconds * times).toFixed(1)} s`
  const each = ({ bytes }: Fetched, count: number) => `${grouped(Math.round(bytes / count / 1_000))} KB each`
  return {
    part: 'client',
    work: `${grouped(clients.length)} clients begin anew, 64 at a time, ${sizeOf(options)}`,
    ours: `${text(ours)}, ${each(ours, clients.length)}`,
    against: `fetching everything, as without \`scope=joined\` (${few.length} clients, times ${grouped(share)})`,
    theirs: `${text(theirs, share)}, ${each(theirs, few.length)}`,
    ratio: `${((theirs.bytes * share) / ours.bytes).toFixed(0)}× the bytes, ${((theirs.seconds * share) / ours.seconds).toFixed(0)}× the time`,
    goal: 'less of both',
    met: theirs.bytes * share > ours.bytes && theirs.seconds * share > ours.seconds,
    figures: { ours, theirs, share },
  }
}

async function fetchAtOnce(api: Agent, address: string, people: Signed[], routes: string[]): Promise<Fetched> {
  const waiting = [...people]
  let bytes = 0
  const begun = performance.now()
  const work = async () => {
    for (let person = waiting.pop(); person; person = waiting.pop()) {
      // Not `bytes += await …`: that would read the sum before the await, and lose what others add to it meanwhile.
      const fetched = await fetchAll(api, address, person.token, routes)
      bytes += fetched
    }
  }
  await Promise.all(Array.from({ length: stormAtOnce }, work))
  return { bytes, seconds: (performance.now() - begun) / 1_000 }
}

/** Fetches one route after the other; returns how many bytes were received. */
async function fetchAll(api: Agent, address: string, token: string, routes: readonly string[]): Promise<number> {
  let bytes = 0
  for (const route of routes) bytes += await ask(api, `${address}${route}`, token)
  return bytes
}

/** Returns how many bytes the reply had on the wire. */
async function ask(api: Agent, url: string, token: string, body?: object): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'accept-encoding': 'gzip' }
  const response = await request(url, {
    dispatcher: api,
    method: body ? 'POST' : 'GET',
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const { byteLength } = await response.body.arrayBuffer()
  if (response.statusCode !== 200) throw new Error(`${url} was answered ${response.statusCode}`)
  return byteLength
}
