import { measureDeliveries } from './fan-out-load.ts'
import { type Foundation, startParley } from './foundation.ts'
import { openPool, postOf } from './http-connection.ts'
import { openParleyStreams } from './parley-streams.ts'
import { seedChannels, seedPeople } from './people.ts'
import { type Row, rateOf } from './report.ts'
import type { Scene } from './scene.ts'
import { type Sample, spreadOf } from './statistics.ts'
import { numbered } from './stream-audience.ts'

const people = 500
const inFlight = 64
const goal = { perSecond: 500_000, p99Ms: 200 }

/** Messages through the API to one public channel that everybody follows, everything on this machine. */
export async function measureEndToEnd(scene: Scene, foundation: Foundation): Promise<Row[]> {
  const { rounds, seconds, streams: count } = foundation.options
  const signed = await seedPeople(foundation, people)
  const [channel] = await seedChannels(foundation, 1)
  const parley = await startParley(scene, foundation, 'deploy/local/solo.ts')
  const senders = await scene.keep(
    () => openPool(parley.port),
    (opened) => opened.close(),
  )
  const streams = await scene.keep(
    () => openParleyStreams(parley.port, signed, count),
    (opened) => opened.close(),
  )
  const publish = async (event: number) => {
    const content = `Message ${numbered(event)}: shall we meet at the usual place, or has somebody a better idea for today?`
    const authorization = `Bearer ${signed[event % signed.length]!.token}`
    const request = postOf(`/channels/${channel}/messages`, JSON.stringify({ content }), { authorization })
    const { status, body } = await senders.send(request)
    if (status !== 200) throw new Error(`answered ${status}: ${body}`)
  }

  await measureDeliveries(streams, { inFlight, seconds: 2, publish })
  const samples: Sample[] = []
  for (let round = 0; round < rounds; round++)
    samples.push(await measureDeliveries(streams, { inFlight, seconds, publish }))
  const rate = spreadOf(samples.map(({ perSecond }) => perSecond))
  const p99 = spreadOf(samples.map(({ p99Ms }) => p99Ms))
  return [
    {
      part: 'endtoend',
      work: `end to end, solo, one public channel, ${count.toLocaleString('en')} streams, ${inFlight} messages in flight, each committed first`,
      ours: rateOf(samples, 'deliveries/s'),
      against: 'Centrifugo, as published: 40 CPUs, nothing stored',
      theirs: '500,000 deliveries/s',
      ratio: `${(rate.median / goal.perSecond).toFixed(2)}×`,
      goal: '≥ 500,000/s, p99 ≤ 200 ms',
      met: rate.median >= goal.perSecond && p99.median <= goal.p99Ms,
      figures: { samples },
    },
  ]
}
