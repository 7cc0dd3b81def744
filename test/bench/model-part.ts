import { setTimeout as delay } from 'node:timers/promises'
import { type Foundation, startParley } from './foundation.ts'
import { openPool } from './http-connection.ts'
import { type Behaviour, type Costs, type Prediction, predict } from './model.ts'
import { type Action, liveThrough } from './open-loop.ts'
import { readCpuTime, serverProcesses } from './processor-time.ts'
import type { Row } from './report.ts'
import type { Scene } from './scene.ts'
import { type ActionName, actionsOf, mix, postsPerPersonAndHour } from './team-actions.ts'
import { seedTeam, type Team } from './team-seed.ts'
import { TeamStreams } from './team-streams.ts'

/** So often an action is done while it is measured. */
const measuredPerSecond = 40
const sizes = [10_000, 30_000, 100_000, 300_000, 1_000_000]
const withinGoal = 0.3
/** Measured by `--only memory`. */
const streamBytes = 7_200
const eventBytes = 900
/** The check lets people act so many times as often, so that there is something to measure. */
const hurry = 8
/** Each action is measured beside everything else at this rate: a process that is busy anyway wakes up less often for one action. */
const besideHurry = 4

/**
 * Measures what each action of a team costs in each process of a cluster, and derives from that what larger organisations need. The
 * same model predicts what the processors of this machine do while all actions are mixed, which is measured too.
 */
export async function measureModel(scene: Scene, foundation: Foundation): Promise<Row[]> {
  const { soakPeople: people, seconds, fill } = foundation.options
  const team = await seedTeam(scene, foundation)
  if (fill) return []
  const one = await openCluster(scene, foundation, team, people, 1)
  const idle = await one.usedBy(async () => void (await delay(seconds * 1_000)))
  const costs: Costs = {
    actions: {},
    deliveryUs: 0,
    nodeUs: { realtime: 0, redis: 0 },
    streamBytes,
    eventBytes,
    idleUs: perSecond(idle, seconds),
  }
  const base = await one.usedByMix(besideHurry, seconds * 3)
  for (const action of one.actions) {
    costs.actions[action.name] = await one.costOf(action, base)
    process.stderr.write(`  ${action.name} is measured\n`)
  }
  const reached = deliveriesOf(team, people)
  const [toMany, toFew] = [await one.costOf(one.post('public'), base), await one.costOf(one.post('direct'), base)]
  const streams = reached.public - reached.direct
  costs.deliveryUs = Math.max(0, (toMany.processorUs.realtime! - toFew.processorUs.realtime!) / streams)
  const mixed = await one.usedByMix(hurry, seconds * 3)
  await one.close()

  const two = await openCluster(scene, foundation, team, people, 2)
  const besideAnother = await two.costOf(two.post('direct'), await two.usedByMix(besideHurry, seconds * 3))
  await two.close()
  costs.nodeUs = {
    realtime: Math.max(0, besideAnother.processorUs.realtime! - toFew.processorUs.realtime!),
    redis: Math.max(0, besideAnother.processorUs.redis! - toFew.processorUs.redis!),
  }

  const behaviour = behaviourOf(reached)
  const predictions = sizes.map((size) => predict(costs, behaviour, size))
  return [checkRow(costs, mixed, people), sizesRow(costs, predictions)]
}

type Used = Record<string, number>

/** What happened while people acted, each per second. */
interface Mix {
  /** Microseconds of processor time, by process. */
  used: Used
  /** Actions, by name. */
  rates: Used
  commits: number
  replyBytes: number
}

const perSecond = (used: Used, seconds: number): Used =>
  Object.fromEntries(Object.entries(used).map(([name, us]) => [name, us / seconds]))

/** A cluster with the streams of a team, and what its processes use. */
async function openCluster(scene: Scene, foundation: Foundation, team: Team, people: number, replicas: number) {
  const args = ['--replicas', String(replicas)]
  const cluster = await startParley(scene, foundation, 'deploy/local/cluster.ts', { args })
  const streams = await scene.keep(
    () => new TeamStreams(cluster.port),
    (opened) => opened.close(),
  )
  await streams.add(team.people.slice(0, people))
  const api = openPool(cluster.port)
  let replyBytes = 0
  const counting = {
    ...api,
    async send(request: Buffer) {
      const reply = await api.send(request)
      replyBytes += reply.body.length
      return reply
    },
  }
  const actions = actionsOf(team, people, counting, streams)
  const { pool } = foundation.database
  const { seconds } = foundation.options

  /** Microseconds of processor time that each process uses meanwhile. */
  async function usedBy(work: () => Promise<void>): Promise<Used> {
    const roots = { ...(await serverProcesses(cluster.pid)), ...foundation.pids }
    const before = await readCpuTime(roots)
    await work()
    const after = await readCpuTime(roots)
    const used: Used = {}
    for (const [name, { userMs, systemMs }] of Object.entries(after)) {
      const begun = before[name]!
      const service = name.replace(/-\d+$/, '')
      used[service] = (used[service] ?? 0) + (userMs + systemMs - begun.userMs - begun.systemMs) * 1_000
    }
    return used
  }

  const commits = async () => {
    await pool.query('select pg_stat_force_next_flush()')
    const { rows } = await pool.query<{ n: string }>(
      'select xact_commit as n from pg_stat_database where datname = current_database()',
    )
    return Number(rows[0]!.n)
  }

  const mixAt = (times: number) =>
    actions.map((action) => ({ ...action, perSecond: rateOf(action.name as ActionName, people) * times }))

  async function usedByActions(acting: readonly Action[], forSeconds: number): Promise<Mix> {
    const counts: Record<string, number> = {}
    const [bytesBefore, commitsBefore] = [replyBytes, await commits()]
    const begun = performance.now()
    const used = await usedBy(async () => {
      const taken = await liveThrough([...acting], forSeconds)
      for (const [name, { count }] of taken) counts[name] = count
    })
    const elapsed = (performance.now() - begun) / 1_000
    return {
      used: perSecond(used, elapsed),
      rates: perSecond(counts, elapsed),
      commits: ((await commits()) - commitsBefore) / elapsed,
      replyBytes: (replyBytes - bytesBefore) / elapsed,
    }
  }

  return {
    actions,
    usedBy,
    post: (where: 'public' | 'direct'): Action =>
      actionsOf(team, people, counting, streams, where === 'public' ? 0 : 1).find(
        ({ name }) => name === 'post a message',
      )!,
    /** What an action adds to everything that people do at `besideHurry`. */
    async costOf(action: Action, base: Mix) {
      const name = `${action.name}, measured`
      const added = { ...action, name, perSecond: measuredPerSecond }
      const all = await usedByActions([...mixAt(besideHurry), added], seconds)
      const rate = all.rates[name]!
      const each = (of: number, before: number) => Math.max(0, of - before) / rate
      return {
        processorUs: Object.fromEntries(
          Object.entries(all.used).map(([process, us]) => [process, each(us, base.used[process] ?? 0)]),
        ),
        commits: each(all.commits, base.commits),
        replyBytes: each(all.replyBytes, base.replyBytes),
      }
    },
    /** What everything uses while people do everything, `times` as often as they do. */
    usedByMix: (times: number, forSeconds: number) => usedByActions(mixAt(times), forSeconds),
    async close() {
      api.close()
      await streams.close()
      await cluster.stop()
    },
  }
}

const rateOf = (name: ActionName, people: number) => (people * postsPerPersonAndHour * mix[name]) / 3_600

/** How many open streams an event reaches on average. */
function deliveriesOf(team: Team, people: number) {
  const connected = new Set(team.people.slice(0, people).map(({ userId }) => userId))
  const reach = (of: Map<string, string[]>) => {
    const members = new Map<string, number>()
    for (const [userId, channels] of of) {
      if (connected.has(userId)) for (const id of channels) members.set(id, (members.get(id) ?? 0) + 1)
    }
    return [...members.values()].reduce((sum, count) => sum + count, 0) / Math.max(1, members.size)
  }
  return { public: reach(team.publicOf), private: reach(team.privateOf), direct: 2 }
}

function behaviourOf(reached: ReturnType<typeof deliveriesOf>): Behaviour {
  const post = 0.1 * reached.public + 0.6 * reached.private + 0.3 * reached.direct
  return {
    perSecond: Object.fromEntries(Object.keys(mix).map((name) => [name, rateOf(name as ActionName, 1)])),
    deliveries: { 'post a message': post, 'mark as read': 1, react: reached.public, 'edit a message': post },
  }
}

/** Predicted and measured processor time of all servers on this machine. */
function checkRow(costs: Costs, { used, rates }: Mix, people: number): Row {
  const names = Object.keys(used)
  const predicted = (name: string) =>
    Object.entries(rates).reduce(
      (sum, [action, rate]) => sum + rate * (costs.actions[action]?.processorUs[name] ?? 0),
      costs.idleUs[name] ?? 0,
    )
  const sum = (of: (name: string) => number) => names.reduce((total, name) => total + of(name), 0) / 1e6
  const [foretold, found] = [sum(predicted), sum((name) => used[name]!)]
  const off = foretold / found - 1
  return {
    part: 'model',
    work: `model: processors in use on this machine, cluster, ${people.toLocaleString('en')} people who act ${hurry} times as often`,
    ours: `predicted ${foretold.toFixed(2)}`,
    against: 'measured',
    theirs: found.toFixed(2),
    ratio: `${(1 + off).toFixed(2)}×`,
    goal: `within ${withinGoal * 100} %`,
    met: Math.abs(off) <= withinGoal,
    figures: { costs, used, rates },
  }
}

function sizesRow(costs: Costs, predictions: readonly Prediction[]): Row {
  const last = predictions.at(-1)!
  const [first] = last.limits
  return {
    part: 'model',
    work: `model: what is nearest to its limit with ${last.people.toLocaleString('en')} people`,
    ours: `${first!.name}: ${(first!.share * 100).toFixed(0)} %`,
    against: '–',
    theirs: first!.remedy,
    ratio: '–',
    goal: '–',
    met: undefined,
    figures: predictions,
    details: [renderCosts(costs), renderPredictions(predictions)].join('\n\n'),
  }
}

function renderCosts({ actions, deliveryUs, nodeUs }: Costs): string {
  const names = [...new Set(Object.values(actions).flatMap(({ processorUs }) => Object.keys(processorUs)))].filter(
    (name) => Object.values(actions).some(({ processorUs }) => processorUs[name]! >= 1),
  )
  return [
    '### What an action costs in a cluster: microseconds of processor time, commits, bytes',
    '',
    `| Action | ${names.join(' | ')} | commits | reply |`,
    `|---|${names.map(() => '---').join('|')}|---|---|`,
    ...Object.entries(actions).map(([action, { processorUs, commits, replyBytes }]) => {
      const cells = names.map((name) => (processorUs[name] ?? 0).toFixed(0))
      return `| ${action} | ${cells.join(' | ')} | ${commits.toFixed(1)} | ${(replyBytes / 1_000).toFixed(1)} KB |`
    }),
    '',
    `One more stream that an event reaches: ${deliveryUs.toFixed(1)} µs of realtime. One more realtime node: ${nodeUs.realtime.toFixed(0)} µs of that node and ` +
      `${nodeUs.redis.toFixed(1)} µs of Redis per event.`,
  ].join('\n')
}

function renderPredictions(predictions: readonly Prediction[]): string {
  const row = (name: string, cell: (prediction: Prediction) => string) =>
    `| ${name} | ${predictions.map(cell).join(' | ')} |`
  const services = [...new Set(predictions.flatMap(({ processes }) => Object.keys(processes)))]
  const isServer = (name: string) => name === 'postgres' || name === 'redis'
  const share = (value: number) => `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`
  return [
    '### What larger organisations need, when a process is used by 60 %',
    '',
    `| People, all connected | ${predictions.map(({ people }) => people.toLocaleString('en')).join(' | ')} |`,
    `|---|${predictions.map(() => '---').join('|')}|`,
    row('requests a second', ({ requestsPerSecond }) => requestsPerSecond.toFixed(0)),
    row('events a second', ({ eventsPerSecond }) => eventsPerSecond.toFixed(0)),
    row('commits a second', ({ commitsPerSecond }) => commitsPerSecond.toFixed(0)),
    row('MB a second to clients', ({ megabytesPerSecond }) => megabytesPerSecond.toFixed(1)),
    row('GB of memory for streams', ({ streamGigabytes }) => streamGigabytes.toFixed(1)),
    ...services
      .toSorted((a, b) => Number(isServer(a)) - Number(isServer(b)))
      .map((name) =>
        row(isServer(name) ? `processors of ${name}` : `${name} processes`, ({ processes }) =>
          (processes[name] ?? 0).toFixed(isServer(name) ? 2 : 0),
        ),
      ),
    row('nearest to its limit', ({ limits }) => `${limits[0]!.name}: ${share(limits[0]!.share)}`),
    row('then', ({ limits }) => `${limits[1]!.name}: ${share(limits[1]!.share)}`),
    row('what to do', ({ limits }) => limits[0]!.remedy),
  ].join('\n')
}
