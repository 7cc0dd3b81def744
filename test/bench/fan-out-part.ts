import { measureDeliveries, measureLatency, type Publish } from './fan-out-load.ts'
import { openPool, postOf } from './http-connection.ts'
import { type Nchan, startNchan } from './nchan.ts'
import { getOf, openParleyStreams } from './parley-streams.ts'
import { seedPeople } from './people.ts'
import { openPublisher } from './redis-publisher.ts'
import { p99Of, type Row, rateRow, skippedRow } from './report.ts'
import type { Scene } from './scene.ts'
import { inTurns, spreadOf } from './statistics.ts'
import { type Stores, startParley } from './stores.ts'
import { numbered, StreamAudience } from './stream-audience.ts'

const part = 'fanout'
const people = 500
const pacePerSecond = 20
const goals = [
  { inFlight: 4, atLeast: 3 },
  { inFlight: 32, atLeast: 10 },
]

/** Events published straight to one realtime node, and to nginx with nchan. */
export async function measureFanOut(scene: Scene, stores: Stores): Promise<Row[]> {
  const { rounds, seconds, streams } = stores.options
  const work = (rest: string) => `fan-out, one realtime node, ${streams.toLocaleString('en')} streams, ${rest}`
  let nchan: Nchan
  try {
    nchan = await startNchan(scene, stores)
  } catch (error) {
    return [skippedRow(part, work('all rows'), 'nginx with nchan', '≥ 3×, ≥ 10×', (error as Error).message)]
  }
  const against = `${nchan.version}, one worker`
  const theirs = await nchanSide(scene, nchan.port, streams)
  const ours = await parleySide(scene, stores)

  const rows: Row[] = []
  for (const { inFlight, atLeast } of goals) {
    const turn = (side: FanOutSide, seconds: number) => () =>
      measureDeliveries(side.streams, { inFlight, seconds, publish: side.publish })
    await inTurns(1, { ours: turn(ours, 1), theirs: turn(theirs, 1) })
    const measured = await inTurns(rounds, { ours: turn(ours, seconds), theirs: turn(theirs, seconds) })
    rows.push(
      rateRow({ part, work: work(`${inFlight} in flight`), unit: 'deliveries/s', against, rounds: measured, atLeast }),
    )
  }

  const paced = (side: FanOutSide) => () =>
    measureLatency(side.streams, { perSecond: pacePerSecond, seconds: seconds * 1.5, publish: side.publish })
  const measured = await inTurns(rounds, { ours: paced(ours), theirs: paced(theirs) })
  const ratio = spreadOf(measured.ours.map(({ p99Ms }, round) => p99Ms / measured.theirs[round]!.p99Ms))
  rows.push({
    part,
    work: work(`${pacePerSecond} events/s`),
    ours: `p99 ${p99Of(measured.ours)}`,
    against,
    theirs: `p99 ${p99Of(measured.theirs)}`,
    ratio: `${ratio.median.toFixed(2)}× (${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)})`,
    goal: 'p99 ≤ 1×',
    met: ratio.median <= 1,
    figures: { ratio, ...measured },
  })
  return rows
}

interface FanOutSide {
  streams: StreamAudience
  publish: Publish
}

async function parleySide(scene: Scene, stores: Stores): Promise<FanOutSide> {
  const signed = await seedPeople(stores, people)
  const node = await startParley(scene, stores, 'services/realtime/src/main.ts')
  const { publish } = await openPublisher(scene, stores)
  const streams = await scene.keep(
    () => openParleyStreams(node.port, signed, stores.options.streams),
    (opened) => opened.close(),
  )
  return { streams, publish: (event) => publish(eventText(event)) }
}

async function nchanSide(scene: Scene, port: number, count: number): Promise<FanOutSide> {
  const publishers = await scene.keep(
    () => openPool(port),
    (opened) => opened.close(),
  )
  const streams = await scene.keep(
    () => StreamAudience.open({ port, count, openedBy: '\r\n\r\n', request: () => getOf('/events') }),
    (opened) => opened.close(),
  )
  const publish = async (event: number) => {
    const { status, body } = await publishers.send(postOf('/publish', eventText(event)))
    if (status >= 300) throw new Error(`nchan answered ${status}: ${body}`)
  }
  return { streams, publish }
}

const id = '0199f1c2-7d3e-7000-8000-0123456789ab'

/** The JSON of a new message, as the send path records it. */
const eventText = (event: number) =>
  JSON.stringify({
    type: 'NEW_MESSAGE',
    payload: {
      id,
      seq: event,
      author: { id, userName: 'somebody' },
      channelId: id,
      content: `Message ${numbered(event)}: shall we meet at the usual place, or has somebody a better idea for today?`,
      attachments: [],
      images: [],
      quotedMessageId: null,
      mentions: [],
      pinnedAt: null,
      createdAt: 1_790_000_000_000,
      updatedAt: null,
      rev: 1,
      reactions: {},
      threadMeta: null,
    },
  })
