import { foldText, searchGrams } from '@parley/search'
import { HttpConnection, postOf } from './http-connection.ts'
import { type Signed, seedChannels, seedPeople } from './people.ts'
import { type Row, rateRow, spreadText } from './report.ts'
import { measureRequests } from './request-load.ts'
import type { Scene } from './scene.ts'
import { grams, nearest, newestPage, ofAuthor, type Statement } from './search-by-hand.ts'
import { fillWithMessages, untilProjected } from './search-seed.ts'
import { inTurns, percentile, spreadOf } from './statistics.ts'
import { type Parley, type Stores, startParley, startStores } from './stores.ts'

const people = 500
const channels = 1_000
const requestsPerRound = 40
const goalMs = 50
const pageGoalMs = 5
const atMost = 2
/** Number of messages on the nearly empty server with which the cost of sends is compared. */
const fewMessages = 1_000

interface Question {
  what: string
  path: string
  byHand: Statement
  goalMs: number
  /** The goal in comparison with the statement by hand; undefined where that statement asks for something else. */
  atMost?: number
}

const questions = (asking: Signed, channelId: string, other: Signed): Question[] => [
  {
    what: 'the newest page of a channel',
    path: `/channels/${channelId}/messages`,
    byHand: newestPage(asking.userId, channelId),
    goalMs: pageGoalMs,
    atMost,
  },
  ...searches(asking, channelId, other).map(({ what, query, byHand, ...goal }) => ({
    what: `search for ${what}`,
    path: `/search/messages?${new URLSearchParams(query)}`,
    byHand,
    goalMs,
    ...goal,
  })),
]

interface SearchQuestion {
  what: string
  query: Record<string, string>
  byHand: Statement
  atMost?: number
}

const searches = ({ userId }: Signed, channelId: string, { userId: authorId, userName }: Signed): SearchQuestion[] => [
  ...[
    ['a rare word', 'needle'],
    ['two characters of Japanese, rare', '東雲'],
    ['what occurs nowhere', 'qzxqj'],
    ['two letters that occur nowhere', 'qz'],
  ].map(([what, q]) => ({
    what: what!,
    query: { q: q! },
    byHand: grams(userId, foldText(q!), searchGrams(foldText(q!))),
    atMost,
  })),
  { what: 'the most frequent word', query: { q: 'the' }, byHand: nearest(userId, 'the') },
  { what: 'a name', query: { q: userName }, byHand: ofAuthor(userId, authorId) },
  {
    what: 'a rare word in a channel',
    query: { q: 'needle', channelId },
    byHand: nearest(userId, 'needle', { channelId }),
  },
  {
    what: 'a rare word of one person',
    query: { q: 'needle', authorId },
    byHand: nearest(userId, 'needle', { authorId }),
  },
]

/**
 * Measures searches among many messages: whole requests, compared with one statement that checks no session and does
 * not look at messages that are not projected yet. Then measures how much the search index slows down sends.
 */
export async function measureSearch(scene: Scene, stores: Stores): Promise<Row[]> {
  const filled = await fill(stores)
  const parley = await startParley(scene, stores, 'deploy/local/solo.ts')
  await untilProjected(stores)
  if (stores.options.fill) return []
  const rows: Row[] = []
  const [asking, other] = filled.signed as [Signed, Signed]
  for (const question of questions(asking, filled.channelIds[0]!, other)) {
    rows.push(await measureQuestion(stores, parley, asking, question))
  }
  rows.push(await measureSendsWhileProjecting(stores, parley, sendsOf(filled)))
  rows.push(await measureSendsBySize(scene, stores, { parley, nextRequest: sendsOf(filled) }))
  return rows
}

interface Filled {
  signed: Signed[]
  channelIds: string[]
}

async function fill(stores: Stores, messages = stores.options.messages): Promise<Filled> {
  const signed = await seedPeople(stores, people)
  const channelIds = await seedChannels(stores, channels)
  await fillWithMessages(stores, messages)
  return { signed, channelIds }
}

async function measureQuestion(
  { database, options: { rounds, messages } }: Stores,
  { port }: Parley,
  { token }: Signed,
  { what, path, byHand, goalMs, atMost }: Question,
): Promise<Row> {
  const request = Buffer.from(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n\r\n`)
  const connection = await HttpConnection.open(port)
  const ours: number[] = []
  const theirs: number[] = []
  try {
    const ask = async () => {
      const { status, body } = await connection.send(request)
      if (status !== 200) throw new Error(`answered ${status}: ${body}`)
    }
    const statement = () => database.pool.query(byHand)
    for (let round = 0; round <= rounds; round++) {
      const [mine, hand] = [await medianMs(ask), await medianMs(statement)]
      // The first search only warms up.
      if (round === 0) continue
      ours.push(mine)
      theirs.push(hand)
    }
  } finally {
    connection.close()
  }
  const ratio = spreadOf(ours.map((mine, round) => mine / theirs[round]!))
  return {
    part: 'search',
    work: `${what}, among ${messages.toLocaleString('en')} messages`,
    ours: spreadText(spreadOf(ours), 'ms', 1),
    against: 'one statement by hand over the same index',
    theirs: spreadText(spreadOf(theirs), 'ms', 1),
    ratio: `${ratio.median.toFixed(2)}× (${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)})`,
    goal: `≤ ${goalMs} ms${atMost === undefined ? '' : `, ≤ ${atMost.toFixed(1)}×`}`,
    met: spreadOf(ours).median <= goalMs && (atMost === undefined || ratio.median <= atMost),
    figures: { ours, theirs },
  }
}

async function medianMs(work: () => Promise<unknown>) {
  const times: number[] = []
  for (let n = 0; n < requestsPerRound; n++) {
    const begun = performance.now()
    await work()
    times.push(performance.now() - begun)
  }
  return percentile(
    times.toSorted((a, b) => a - b),
    0.5,
  )
}

function sendsOf({ signed, channelIds }: Filled) {
  const requests = Array.from({ length: 5_000 }, (_, n) => {
    const content = `Message ${n}: shall we meet at the usual place, or has somebody a better idea for today?`
    return postOf(`/channels/${channelIds[(n * 13) % channels]}/messages`, JSON.stringify({ content }), {
      authorization: `Bearer ${signed[(n * 7) % people]!.token}`,
    })
  })
  let next = 0
  return () => requests[next++ % requests.length]!
}

/**
 * Compares sends while the projection works with sends while it rests. A transaction that locks the row of
 * `search_progress` stops the projection.
 */
async function measureSendsWhileProjecting(
  { database, options: { rounds, seconds } }: Stores,
  { port }: Parley,
  nextRequest: () => Buffer,
): Promise<Row> {
  const working = (seconds: number) => () => measureRequests({ port, inFlight: 32, seconds, nextRequest })
  const resting = (seconds: number) => async () => {
    const client = await database.pool.connect()
    try {
      await client.query('begin')
      await client.query('select from search_progress for update')
      return await working(seconds)()
    } finally {
      await client.query('rollback')
      client.release()
    }
  }
  await inTurns(1, { ours: working(1), theirs: resting(1) })
  return rateRow({
    part: 'search',
    work: 'send, solo, 1,000 channels, 32 in flight, while the projection of search works',
    unit: 'sends/s',
    against: 'the same while it rests',
    rounds: await inTurns(rounds, { ours: working(seconds), theirs: resting(seconds) }),
    atLeast: 0.9,
  })
}

/** Compares sends on the full server with sends on a second Parley, whose own PostgreSQL is nearly empty. */
async function measureSendsBySize(
  scene: Scene,
  { options }: Stores,
  full: { parley: Parley; nextRequest: () => Buffer },
): Promise<Row> {
  const stores = await startStores(scene, options)
  const nextOfFew = sendsOf(await fill(stores, fewMessages))
  const small = await startParley(scene, stores, 'deploy/local/solo.ts')
  const sides = (seconds: number) => ({
    ours: () => measureRequests({ port: full.parley.port, inFlight: 32, seconds, nextRequest: full.nextRequest }),
    theirs: () => measureRequests({ port: small.port, inFlight: 32, seconds, nextRequest: nextOfFew }),
  })
  await inTurns(1, sides(2))
  return rateRow({
    part: 'search',
    work: `send, solo, 1,000 channels, 32 in flight, with ${options.messages.toLocaleString('en')} messages stored`,
    unit: 'sends/s',
    against: `the same with ${fewMessages.toLocaleString('en')}`,
    rounds: await inTurns(options.rounds, sides(options.seconds)),
    atLeast: 0.9,
  })
}
