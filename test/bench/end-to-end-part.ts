import { measureDeliveries, type Publish } from './fan-out-load.ts'
import { openPool, postOf } from './http-connection.ts'
import { openParleyStreams } from './parley-streams.ts'
import { type Signed, seedChannels, seedMembers, seedPeople } from './people.ts'
import { type Row, rateOf } from './report.ts'
import type { Scene } from './scene.ts'
import { type Sample, spreadOf } from './statistics.ts'
import { type Stores, startParley } from './stores.ts'
import { numbered } from './stream-audience.ts'

const people = 500
const goal = { perSecond: 500_000, p99Ms: 200 }

interface Load {
  name: string
  inFlight: number
  /** Whether every stream parses every event, as a real client does. */
  realReaders: boolean
  /**
   * Whether the next message only waits for the answer to the one before, as a real sender does, and not for its
   * delivery too.
   */
  untilAcknowledged: boolean
}

const loads: Load[] = [
  { name: '64 messages in flight', inFlight: 64, realReaders: false, untilAcknowledged: false },
  {
    name: 'all taking every event apart, 32 sends in flight',
    inFlight: 32,
    realReaders: true,
    untilAcknowledged: true,
  },
]

/** Messages through the API to one public channel that everybody follows, everything on this machine. */
export async function measureEndToEnd(scene: Scene, stores: Stores): Promise<Row[]> {
  const signed = await seedPeople(stores, people)
  const [channel] = await seedChannels(stores, 1)
  // Without this each person would join the channel with their first message, one after the other.
  await seedMembers(
    stores,
    signed.map((author) => ({ author, channelId: channel! })),
  )
  const parley = await startParley(scene, stores, 'deploy/local/solo.ts')
  const senders = await scene.keep(
    () => openPool(parley.port),
    (opened) => opened.close(),
  )
  const publish = async (event: number) => {
    const content = `Message ${numbered(event)}: shall we meet at the usual place, or has somebody a better idea for today?`
    const authorization = `Bearer ${signed[event % signed.length]!.token}`
    const request = postOf(`/channels/${channel}/messages`, JSON.stringify({ content }), { authorization })
    const { status, body } = await senders.send(request)
    if (status !== 200) throw new Error(`answered ${status}: ${body}`)
  }
  const rows: Row[] = []
  for (const load of loads) rows.push(await measureLoad(stores, parley.port, signed, publish, load))
  return rows
}

async function measureLoad(
  { options: { rounds, seconds, streams: count } }: Stores,
  port: number,
  signed: readonly Signed[],
  publish: Publish,
  { name, inFlight, realReaders, untilAcknowledged }: Load,
): Promise<Row> {
  const streams = await openParleyStreams(port, signed, count, '/events', realReaders ? count : undefined)
  try {
    // A client that is still being compiled falls so far behind that its streams are ended, so it begins at its own pace.
    await measureDeliveries(streams, { inFlight, seconds: 2, publish })
    const samples: Sample[] = []
    for (let round = 0; round < rounds; round++)
      samples.push(await measureDeliveries(streams, { inFlight, seconds, publish, untilAcknowledged }))
    const rate = spreadOf(samples.map(({ perSecond }) => perSecond))
    const p99 = spreadOf(samples.map(({ p99Ms }) => p99Ms))
    return {
      part: 'endtoend',
      work: `end to end, solo, one public channel, ${count.toLocaleString('en')} streams, ${name}, each committed first`,
      ours: rateOf(samples, 'deliveries/s'),
      against: 'Centrifugo, as published: 40 CPUs, nothing stored',
      theirs: '500,000 deliveries/s',
      ratio: `${(rate.median / goal.perSecond).toFixed(2)}×`,
      goal: '≥ 500,000/s, p99 ≤ 200 ms',
      met: rate.median >= goal.perSecond && p99.median <= goal.p99Ms,
      figures: { samples },
    }
  } finally {
    streams.close()
  }
}
