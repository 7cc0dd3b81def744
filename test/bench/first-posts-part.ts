import { openPool, postOf } from './http-connection.ts'
import { openParleyStreams } from './parley-streams.ts'
import { seedChannels, seedPeople } from './people.ts'
import { grouped, type Row, rateOf } from './report.ts'
import type { Scene } from './scene.ts'
import { type Sample, sampleOf } from './statistics.ts'
import { type Stores, startParley } from './stores.ts'

const people = 500
const inFlight = 32

/** Many people post to a public channel for the first time, and so join it. Everything that they cause goes to all streams. */
export async function measureFirstPosts(scene: Scene, stores: Stores): Promise<Row[]> {
  const { rounds, streams: count } = stores.options
  const signed = await seedPeople(stores, people)
  const channels = await seedChannels(stores, rounds + 1)
  const parley = await startParley(scene, stores, 'deploy/local/solo.ts')
  const senders = await scene.keep(
    () => openPool(parley.port),
    (opened) => opened.close(),
  )
  const streams = await scene.keep(
    () => openParleyStreams(parley.port, signed, count),
    (opened) => opened.close(),
  )

  async function measureChannel(channelId: string): Promise<Sample> {
    const latenciesMs: number[] = []
    const waiting = [...signed]
    const begun = performance.now()
    const sendSome = async () => {
      for (let author = waiting.pop(); author; author = waiting.pop()) {
        const sentAt = performance.now()
        const body = JSON.stringify({ content: 'Hello everybody, I am new in this channel' })
        const authorization = `Bearer ${author.token}`
        const response = await senders.send(postOf(`/channels/${channelId}/messages`, body, { authorization }))
        if (response.status !== 200) throw new Error(`answered ${response.status}: ${response.body}`)
        latenciesMs.push(performance.now() - sentAt)
      }
    }
    await Promise.all(Array.from({ length: inFlight }, sendSome))
    const seconds = (performance.now() - begun) / 1_000
    streams.check()
    return sampleOf(people, seconds, latenciesMs)
  }

  const samples: Sample[] = []
  for (const [index, channel] of channels.entries()) {
    const sample = await measureChannel(channel)
    // The first channel is for warming up.
    if (index > 0) samples.push(sample)
  }
  return [
    {
      part: 'firstposts',
      work: `first messages of ${people} people in a public channel, ${inFlight} in flight, ${grouped(count)} streams`,
      ours: rateOf(samples, 'people/s'),
      against: '–',
      theirs: '–',
      ratio: '–',
      goal: '–',
      met: undefined,
      figures: { samples },
    },
  ]
}
