import type { Browser } from 'playwright-core'
import { Agent, request } from 'undici'
import { startChromium } from '../web/chromium.ts'
import { type LargeServer, seedLargeServer, talkToFirst } from './client-seed.ts'
import type { Signed } from './people.ts'
import { type PlainMessage, servePlainPage } from './plain-page.ts'
import type { Scene } from './scene.ts'
import { type Stores, startParley } from './stores.ts'

/** Number of people who talk to the reader. All others are away. */
const present = 60
const authors = 10
/** On one day there are a few hundred messages. */
const apartMs = 120_000

/** Where the web client is measured: a large server, a channel with a long history, and a plain page with the same. */
export interface WebStage {
  browser: Browser
  baseUrl: string
  /** Requests as one of the present people. They throw unless the answer is 200. */
  post: <Answer>(path: string, body: object, token: string) => Promise<Answer>
  put: <Answer>(path: string, body: object, token: string) => Promise<Answer>
  server: LargeServer
  /** Has the browser. */
  reader: Signed
  /** A channel with a long history that the reader has joined. */
  channelId: string
  /** The messages of that history. */
  history: PlainMessage[]
  plain: Awaited<ReturnType<typeof servePlainPage>>
  rounds: number
  /** Number of events that one open page receives. */
  events: number
}

export async function prepareWebStage(scene: Scene, stores: Stores): Promise<WebStage> {
  const { options } = stores
  const server = await seedLargeServer(stores, present)
  const { channelId } = server
  const reader = server.clients[0]!
  const history = Array.from({ length: options.webMessages }, (_, n) => ({
    author: server.clients[1 + ((n >> 1) % authors)]!.userName,
    content: `${n}: ${'what is said in a channel has many lengths, '.repeat(1 + ((n * 7) % 6))}as here`,
  }))
  await seedHistory(stores, server, history)
  const parley = await startParley(scene, stores, 'deploy/local/solo.ts')
  const baseUrl = `http://127.0.0.1:${parley.port}`
  const api = await scene.keep(
    () => new Agent({ connections: 64 }),
    (agent) => agent.close(),
  )
  const call = async <Answer>(method: 'POST' | 'PUT', path: string, body: object, token: string) => {
    const response = await request(`${baseUrl}${path}`, {
      dispatcher: api,
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const answer = await response.body.json()
    if (response.statusCode !== 200)
      throw new Error(`${path} was answered ${response.statusCode}: ${JSON.stringify(answer)}`)
    return answer as Answer
  }
  const post: WebStage['post'] = (path, body, token) => call('POST', path, body, token)
  const put: WebStage['put'] = (path, body, token) => call('PUT', path, body, token)
  await talkToFirst(post, server)
  await put(`/channels/${channelId}/read`, { seq: Number.MAX_SAFE_INTEGER }, reader.token)
  const browser = await scene.keep(startChromium, (started) => started.close())
  const plain = await scene.keep(
    () => servePlainPage(history),
    (served) => served.close(),
  )
  return {
    browser,
    baseUrl,
    post,
    put,
    server,
    reader,
    channelId,
    history,
    plain,
    rounds: options.rounds,
    events: options.webEvents,
  }
}

/** Writes the history into the tables exactly as Parley would, unless an earlier run has done so. */
async function seedHistory(
  { database: { pool } }: Stores,
  { clients, channelId }: LargeServer,
  history: readonly PlainMessage[],
) {
  const ids = new Map(clients.map(({ userId, userName }) => [userName, userId]))
  await pool.query(
    `with channel as (select id, last_seq from channels where id = $1 and last_seq = 0),
     said as (
       insert into messages (id, channel_id, seq, author_id, content, created_at)
       select uuidv7(), channel.id, n, author, content, $4::bigint - (cardinality($3::text[]) - n) * ${apartMs}
       from channel, unnest($2::uuid[], $3::text[]) with ordinality as each (author, content, n)
       returning seq)
     update channels set last_seq = (select max(seq) from said) from channel where channels.id = channel.id`,
    [
      channelId,
      history.map(({ author }) => ids.get(author)),
      history.map(({ content }) => content),
      Date.now() - 3_600_000,
    ],
  )
}
