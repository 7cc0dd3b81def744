import { setTimeout as delay } from 'node:timers/promises'
import { descendantsOf, signal } from '../src/processes.ts'
import { openPool, postOf } from './http-connection.ts'
import { type Signed, seedChannels, seedPeople } from './people.ts'
import { type ProcessorTime, readProcessorTime } from './processor-time.ts'
import type { Row } from './report.ts'
import type { Scene } from './scene.ts'
import { spreadOf } from './statistics.ts'
import { type Stores, startParley } from './stores.ts'
import { StormStreams } from './storm-streams.ts'
import { numbered } from './stream-audience.ts'

const goalSeconds = 10
const maxRounds = 3
const messagesPerSecond = 10
const beforeMs = 2_000

interface Storm {
  part: string
  work: string
  launcher: string
  args: string[]
  /** What happens to the servers at the moment at which every stream is cut. */
  strike: (pid: number) => Promise<void>
}

/** Everything in one process. */
export const measureStorm = (scene: Scene, stores: Stores): Promise<Row[]> =>
  weather(scene, stores, {
    part: 'storm',
    work: 'solo, every connection cut',
    launcher: 'deploy/local/solo.ts',
    args: [],
    strike: async () => {},
  })

/** Through gateways to realtime nodes, one of which is killed at the moment of the cut. */
export const measureDistributedStorm = (scene: Scene, stores: Stores): Promise<Row[]> =>
  weather(scene, stores, {
    part: 'stormdistributed',
    work: 'distributed, two of each, every connection cut and one realtime process killed',
    launcher: 'deploy/local/cluster.ts',
    args: ['--replicas', '2'],
    strike: killRealtime,
  })

/**
 * All streams lose their connection at the same moment and come back, while people continue to send messages. The storm
 * is over when every stream is open again and has every message that was acknowledged until then.
 */
async function weather(scene: Scene, stores: Stores, storm: Storm): Promise<Row[]> {
  const people = await seedPeople(stores, stores.options.stormStreams)
  const [channel] = await seedChannels(stores, 1)
  const parley = await startParley(scene, stores, storm.launcher, { args: storm.args })
  const streams = await scene.keep(
    () => StormStreams.open(parley.port, people),
    (opened) => opened.close(),
  )
  const talk = await scene.keep(
    () => startTalking(parley.port, people, channel!),
    (started) => started.stop(),
  )

  const seconds: number[] = []
  const openSeconds: number[] = []
  const attempts: number[] = []
  const processorSeconds: Record<string, number>[] = []
  const roots = { server: parley.pid, ...stores.pids }
  for (let round = 0; round < Math.min(maxRounds, stores.options.rounds); round++) {
    await delay(beforeMs)
    await streams.until(() => streams.open === streams.size, 'a stream does not come back')
    const before = await readProcessorTime(roots)
    const begun = performance.now()
    const struck = storm.strike(parley.pid)
    streams.cut()
    await streams.until(() => streams.open === streams.size, 'a stream does not come back')
    openSeconds.push((performance.now() - begun) / 1_000)
    const acknowledged = talk.acknowledged()
    await streams.until(() => streams.complete >= acknowledged, 'a stream has not got everything')
    seconds.push((performance.now() - begun) / 1_000)
    attempts.push(streams.attempts)
    processorSeconds.push(difference(before, await readProcessorTime(roots)))
    await struck
  }
  await talk.stop()
  await streams.until(() => streams.complete >= talk.acknowledged(), 'a stream has not got everything')
  return [rowOf(storm, streams, talk, { seconds, openSeconds, attempts, processorSeconds })]
}

interface Measured {
  seconds: number[]
  /** Time until every stream was open again. After it, the streams only receive what they have missed. */
  openSeconds: number[]
  attempts: number[]
  processorSeconds: Record<string, number>[]
}

function rowOf({ part, work }: Storm, streams: StormStreams, talk: Talk, measured: Measured): Row {
  const { seconds, attempts } = measured
  const { median, low, high } = spreadOf(seconds)
  const { lost, repeated, notResumed, refusals, size } = streams
  const serverErrors = [...refusals].filter(([status]) => status >= '500').reduce((sum, [, count]) => sum + count, 0)
  const tries = spreadOf(attempts.map((count) => count / size)).median
  return {
    part,
    work: `reconnect storm of ${size.toLocaleString('en')} streams, ${work}`,
    ours:
      `${median.toFixed(1)} s (${low.toFixed(1)}–${high.toFixed(1)}), of ${talk.acknowledged()} messages ${lost} lost and ` +
      `${repeated} repeated, ${notResumed} not resumed, ${serverErrors} × 5xx, ${tries.toFixed(2)} tries each`,
    against: 'itself: until all are open and complete, waits of `retry:` (1–4 s) included',
    theirs: `${goalSeconds} s`,
    ratio: `${(median / goalSeconds).toFixed(2)}×`,
    goal: `≤ ${goalSeconds} s, nothing lost, no 5xx`,
    met: high <= goalSeconds && lost + repeated + notResumed + serverErrors + talk.failures() === 0,
    figures: { ...measured, refusals: [...refusals], sendFailures: talk.failures() },
  }
}

/** A process that was started meanwhile begins with 0; a process that has ended is no longer counted. */
const difference = (before: ProcessorTime, after: ProcessorTime): Record<string, number> =>
  Object.fromEntries(Object.entries(after).map(([name, ms]) => [name, Math.round(ms - (before[name] ?? 0)) / 1_000]))

type Talk = ReturnType<typeof startTalking>

/**
 * Sends numbered messages at a steady pace. Each is sent only after the one before was acknowledged, so their order is
 * known.
 */
function startTalking(port: number, people: readonly Signed[], channel: string) {
  const pool = openPool(port)
  let acknowledged = 0
  let failures = 0
  let stopping = false
  const talking = (async () => {
    while (!stopping) {
      const content = `Message ${numbered(acknowledged)}: is everybody still here?`
      const request = postOf(`/channels/${channel}/messages`, JSON.stringify({ content }), {
        authorization: `Bearer ${people[acknowledged % people.length]!.token}`,
        'idempotency-key': `storm-${port}-${acknowledged}`,
      })
      const { status } = await pool.send(request)
      if (status === 200) acknowledged++
      else failures++
      await delay(1_000 / messagesPerSecond)
    }
  })()
  return {
    acknowledged: () => acknowledged,
    failures: () => failures,
    async stop() {
      stopping = true
      await talking
      pool.close()
    },
  }
}

/** Kills a realtime process; the cluster starts it again, as Kubernetes would. */
async function killRealtime(launcherPid: number) {
  const [node] = (await descendantsOf(launcherPid)).filter(({ command }) => command.includes('services/realtime/'))
  if (!node) throw new Error('no realtime process is running')
  signal(node.pid, 'SIGKILL')
}
