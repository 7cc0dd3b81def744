import { foldText, searchGrams } from '@parley/database'
import { type Foundation, type Parley, startParley } from './foundation.ts'
import { HttpConnection, postOf } from './http-connection.ts'
import { type Signed, seedChannels, seedPeople } from './people.ts'
import { type Row, rateRow, spreadText } from './report.ts'
import { measureRequests } from './request-load.ts'
import type { Scene } from './scene.ts'
import { grams, nearest, ofAuthor, type Statement } from './search.by-hand.ts'
import { fillWithMessages } from './search.seed.ts'
import { inTurns, percentile, spreadOf } from './statistics.ts'

const people = 500
const channels = 1_000
const searchesPerRound = 40
const goalMs = 50

interface Question {
  what: string
  query: Record<string, string>
  byHand: Statement
}

const questions = (channelId: string, { userId, userName }: Signed): Question[] => [
  ...[
    ['a rare word', 'needle'],
    ['two characters of Japanese, rare', '東雲'],
    ['what occurs nowhere', 'qzxqj'],
    ['two letters that occur nowhere', 'qz'],
  ].map(([what, q]) => ({ what: what!, query: { q: q! }, byHand: grams(foldText(q!), searchGrams(foldText(q!))) })),
  { what: 'the most frequent word', query: { q: 'the' }, byHand: nearest('the') },
  { what: 'a name', query: { q: userName }, byHand: ofAuthor(userId) },
  { what: 'a rare word in a channel', query: { q: 'needle', channelId }, byHand: nearest('needle', { channelId }) },
  {
    what: 'a rare word of one person',
    query: { q: 'needle', authorId: userId },
    byHand: nearest('needle', { authorId: userId }),
  },
]

/**
 * Searches among many messages, whole requests against one statement that asks for no rights, no names and nothing that is not
 * projected yet; and what keeping them findable costs whoever sends.
 */
export async function measureSearch(scene: Scene, foundation: Foundation): Promise<Row[]> {
  const signed = await seedPeople(foundation, people)
  const channelIds = await seedChannels(foundation, channels)
  await fillWithMessages(foundation)
  const parley = await startParley(scene, foundation, 'deploy/local/solo.ts')
  const rows: Row[] = []
  for (const question of questions(channelIds[0]!, signed[1]!)) {
    rows.push(await measureQuestion(foundation, parley, signed[0]!, question))
  }
  rows.push(await measureSends(foundation, parley, signed, channelIds))
  return rows
}

async function measureQuestion(
  { database, options: { rounds, messages } }: Foundation,
  { port }: Parley,
  { token }: Signed,
  { what, query, byHand }: Question,
): Promise<Row> {
  const request = Buffer.from(
    `GET /search/messages?${new URLSearchParams(query)} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n\r\n`,
  )
  const connection = await HttpConnection.open(port)
  const ours: number[] = []
  const theirs: number[] = []
  try {
    const search = async () => {
      const { status, body } = await connection.send(request)
      if (status !== 200) throw new Error(`answered ${status}: ${body}`)
    }
    const statement = () => database.pool.query(byHand)
    for (let round = 0; round <= rounds; round++) {
      const [mine, hand] = [await medianMs(search), await medianMs(statement)]
      // The first one only warms up.
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
    work: `search among ${messages.toLocaleString('en')} messages: ${what}`,
    ours: spreadText(spreadOf(ours), 'ms', 1),
    against: 'one statement by hand over the same index',
    theirs: spreadText(spreadOf(theirs), 'ms', 1),
    ratio: `${ratio.median.toFixed(2)}× (${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)})`,
    goal: `≤ ${goalMs} ms`,
    met: spreadOf(ours).median <= goalMs,
    figures: { ours, theirs },
  }
}

async function medianMs(work: () => Promise<unknown>) {
  const times: number[] = []
  for (let n = 0; n < searchesPerRound; n++) {
    const begun = performance.now()
    await work()
    times.push(performance.now() - begun)
  }
  return percentile(
    times.toSorted((a, b) => a - b),
    0.5,
  )
}

/** Whoever holds the progress stops the projection: that is the other side. */
async function measureSends(
  { database, options: { rounds, seconds } }: Foundation,
  { port }: Parley,
  signed: Signed[],
  channelIds: string[],
): Promise<Row> {
  const requests = Array.from({ length: 5_000 }, (_, n) => {
    const content = `Message ${n}: shall we meet at the usual place, or has somebody a better idea for today?`
    return postOf(`/channels/${channelIds[(n * 13) % channels]}/messages`, JSON.stringify({ content }), {
      authorization: `Bearer ${signed[(n * 7) % people]!.token}`,
    })
  })
  let next = 0
  const nextRequest = () => requests[next++ % requests.length]!
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
