import { startBaseline } from './baseline.ts'
import { postOf } from './http-connection.ts'
import { seedChannels, seedMembers, seedPeople } from './people.ts'
import { withProcessorTime } from './processor-time.ts'
import { type Row, rateRow } from './report.ts'
import { measureRequests } from './request-load.ts'
import type { Scene } from './scene.ts'
import { inTurns } from './statistics.ts'
import { type Stores, startParley } from './stores.ts'

const people = 500
const channels = 1_000
const preparedRequests = 5_000
const against = 'bare Fastify route with one prepared INSERT'

interface Workload {
  work: string
  inFlight: number
  /** Sends are spread over this number of channels. */
  channels: number
  atLeast: number
}

/** Measures messages sent through the API of solo: everything in one process, including the relay. */
export const measureSolo = (scene: Scene, stores: Stores): Promise<Row[]> =>
  measureSends(scene, stores, 'send', 'deploy/local/solo.ts', [
    { work: 'send, solo, 1,000 channels, 32 in flight', inFlight: 32, channels, atLeast: 1 },
    { work: 'send, solo, 1,000 channels, 128 in flight', inFlight: 128, channels, atLeast: 1.5 },
    { work: 'send, solo, one hot channel, 32 in flight', inFlight: 32, channels: 1, atLeast: 0.9 },
  ])

/** Measures the same with one gateway process and one messaging process. */
export const measureDistributed = (scene: Scene, stores: Stores): Promise<Row[]> =>
  measureSends(scene, stores, 'distributed', 'deploy/local/cluster.ts', [
    { work: 'send, distributed, 1,000 channels, 32 in flight', inFlight: 32, channels, atLeast: 0.5 },
    { work: 'send, distributed, 1,000 channels, 128 in flight', inFlight: 128, channels, atLeast: 0.5 },
    { work: 'send, distributed, one hot channel, 32 in flight', inFlight: 32, channels: 1, atLeast: 0.45 },
  ])

async function measureSends(
  scene: Scene,
  stores: Stores,
  part: string,
  launcher: string,
  workloads: readonly Workload[],
): Promise<Row[]> {
  const { rounds, seconds } = stores.options
  const requests = await prepareRequests(stores)
  const baseline = await startBaseline(scene, stores)
  const parley = await startParley(scene, stores, launcher)

  const rows: Row[] = []
  for (const { work, inFlight, channels, atLeast } of workloads) {
    const nextRequest = requests(channels)
    const side = ({ port, pid }: { port: number; pid: number }, seconds: number) =>
      withProcessorTime({ server: pid, ...stores.pids }, () =>
        measureRequests({ port, inFlight, seconds, nextRequest }),
      )
    await inTurns(1, { ours: side(parley, 2), theirs: side(baseline, 2) })
    const measured = await inTurns(rounds, {
      ours: side(parley, seconds),
      theirs: side(baseline, seconds),
    })
    rows.push(rateRow({ part, work, unit: 'sends/s', against, rounds: measured, atLeast }))
  }
  return rows
}

/**
 * Requests of many people to many channels. They are built before the measurement and sent again and again, the same
 * ones to both sides.
 */
export async function prepareRequests(stores: Stores) {
  const signed = await seedPeople(stores, people)
  const channelIds = await seedChannels(stores, channels)
  const requestOf = (index: number, count: number) => ({
    author: signed[(index * 7) % signed.length]!,
    channelId: channelIds[(index * 13) % count]!,
  })
  // With their first post to a channel people also join it. These joins are done before the measurement.
  await seedMembers(
    stores,
    [1, channels].flatMap((count) => Array.from({ length: preparedRequests }, (_, index) => requestOf(index, count))),
  )
  return (count: number) => {
    const requests = Array.from({ length: preparedRequests }, (_, index) => {
      const { author, channelId } = requestOf(index, count)
      const content = `Message ${index}: shall we meet at the usual place, or has somebody a better idea for today?`
      return postOf(`/channels/${channelId}/messages`, JSON.stringify({ content }), {
        authorization: `Bearer ${author.token}`,
      })
    })
    let next = 0
    return () => requests[next++ % requests.length]!
  }
}
