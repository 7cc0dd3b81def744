import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startBaseline } from './baseline.ts'
import { type Phase, phases, readPhases } from './cpu-profile.ts'
import { type CpuTime, ownCpuTime, readCpuTime, serverProcesses } from './processor-time.ts'
import type { Row } from './report.ts'
import { measureRequests } from './request-load.ts'
import type { Scene } from './scene.ts'
import { prepareRequests } from './send-part.ts'
import { spreadOf } from './statistics.ts'
import { type Stores, startParley } from './stores.ts'

/** One column of the tables: a server under one load. */
interface Column {
  title: string
  pid: number
  port: number
  inFlight: number
  nextRequest: () => Buffer
}

/** Microseconds of one request, by process. */
type Cost = Record<string, CpuTime>

const channels = 1_000
/** Sends in flight. */
const loads = [32, 128]

/**
 * Measures the processor time of one send in every process that takes part, beside an empty route and the bare insert
 * route. A second run with a sampling profiler tells how the Node.js processes spend that time. The profiler itself
 * costs time, so only shares are taken from it.
 */
export async function measureCost(scene: Scene, stores: Stores): Promise<Row[]> {
  const { rounds, seconds } = stores.options
  const requests = await prepareRequests(stores)
  const nextSend = requests(channels)
  const baseline = await startBaseline(scene, stores)
  const emptyRequest = Buffer.from('POST /empty HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n')
  const columnsOf = (name: string, server: { pid: number; port: number }): Column[] =>
    loads.map((inFlight) => ({ title: `${name}, ${inFlight}`, ...server, inFlight, nextRequest: nextSend }))
  const empty: Column = { title: 'empty route, 32', ...baseline, inFlight: 32, nextRequest: () => emptyRequest }
  const yardsticks = [empty, ...columnsOf('bare INSERT', baseline)]
  const solo = await startParley(scene, stores, 'deploy/local/solo.ts')
  const costs = await measureColumns(stores, [...yardsticks, ...columnsOf('solo', solo)], rounds, seconds)
  await solo.stop()

  const cluster = await startParley(scene, stores, 'deploy/local/cluster.ts')
  costs.push(...(await measureColumns(stores, columnsOf('cluster', cluster), rounds, seconds)))
  await cluster.stop()

  const profiles = await profileLaunchers(scene, stores, nextSend)
  const details = [renderCosts(costs), renderPhases(profiles)].join('\n\n')
  const [emptyRoute, ...totals] = costs.map(({ title, cost }) => ({ title, us: total(cost) }))
  return totals.slice(loads.length).map(({ title, us }, index) => {
    const bare = totals[index % loads.length]!
    return {
      part: 'cost',
      work: `processor time of one send, ${title} in flight, all servers together`,
      ours: `${us.toFixed(0)} µs`,
      against: bare.title,
      theirs: `${bare.us.toFixed(0)} µs (empty route ${emptyRoute!.us.toFixed(0)} µs)`,
      ratio: `${(us / bare.us).toFixed(2)}×`,
      goal: '–',
      met: undefined,
      figures: costs,
      ...(index === 0 && { details }),
    }
  })
}

interface Measured {
  title: string
  cost: Cost
}

async function measureColumns(
  { pids }: Stores,
  columns: Column[],
  rounds: number,
  seconds: number,
): Promise<Measured[]> {
  const samples = columns.map((): Cost[] => [])
  for (const column of columns) await measureRequests({ ...column, seconds: 2 })
  for (let round = 0; round < rounds; round++) {
    for (const [index, column] of columns.entries()) {
      const roots = { ...(await serverProcesses(column.pid)), ...pids }
      const read = async () => ({ client: ownCpuTime(), ...(await readCpuTime(roots)) })
      const before = await read()
      const { count } = await measureRequests({ ...column, seconds })
      samples[index]!.push(perRequest(before, await read(), count))
    }
  }
  return columns.map(({ title }, index) => ({ title, cost: medianCost(samples[index]!) }))
}

function perRequest(before: Cost, after: Cost, count: number): Cost {
  const each = (ms: number) => (ms * 1000) / count
  return Object.fromEntries(
    Object.entries(after).map(([name, { userMs, systemMs }]) => {
      const begun = before[name] ?? { userMs: 0, systemMs: 0 }
      return [name, { userMs: each(userMs - begun.userMs), systemMs: each(systemMs - begun.systemMs) }]
    }),
  )
}

function medianCost(costs: readonly Cost[]): Cost {
  const median = (name: string, part: keyof CpuTime) => spreadOf(costs.map((cost) => cost[name]?.[part] ?? 0)).median
  return Object.fromEntries(
    Object.keys(costs[0]!).map((name) => [
      name,
      { userMs: median(name, 'userMs'), systemMs: median(name, 'systemMs') },
    ]),
  )
}

/** The client is left out: it costs the same in every column. */
const total = (cost: Cost) =>
  Object.entries(cost)
    .filter(([name]) => name !== 'client')
    .reduce((sum, [, { userMs, systemMs }]) => sum + userMs + systemMs, 0)

interface Profiled {
  title: string
  /** Share of the processor time of one process, from 0 to 1. */
  shares: Map<Phase, number>
}

/** Runs each launcher once more, now with a profiler, which writes its file when the process ends. */
async function profileLaunchers(scene: Scene, stores: Stores, nextRequest: () => Buffer) {
  const { seconds } = stores.options
  const profiled: Profiled[] = []
  for (const launcher of ['deploy/local/solo.ts', 'deploy/local/cluster.ts']) {
    const directory = await scene.keep(
      () => mkdtemp(path.join(tmpdir(), 'parley-profiles-')),
      (made) => rm(made, { recursive: true, force: true }),
    )
    const options = { ...stores.options, profile: directory }
    const server = await startParley(scene, { ...stores, options }, launcher)
    await measureRequests({ port: server.port, inFlight: 32, seconds: 2, nextRequest })
    const processes = await serverProcesses(server.pid)
    const fromUs = Number(process.hrtime.bigint() / 1000n)
    await measureRequests({ port: server.port, inFlight: 32, seconds, nextRequest })
    const toUs = Number(process.hrtime.bigint() / 1000n)
    await server.stop()
    for (const [name, pid] of Object.entries(processes)) {
      const shares = await readPhases(directory, pid, { fromUs, toUs })
      if (shares) profiled.push({ title: name === 'the one process' ? 'solo' : name, shares })
    }
  }
  return profiled
}

function renderCosts(costs: readonly Measured[]): string {
  const names = [...new Set(costs.flatMap(({ cost }) => Object.keys(cost)))]
  const cell = (cost: Cost, name: string) => {
    const time = cost[name]
    return time ? `${time.userMs.toFixed(0)} + ${time.systemMs.toFixed(0)}` : '–'
  }
  return [
    '### Processor time of one request, in microseconds (user + system)',
    '',
    `| Process | ${costs.map(({ title }) => title).join(' | ')} |`,
    `|---|${costs.map(() => '---').join('|')}|`,
    ...names.map((name) => `| ${name} | ${costs.map(({ cost }) => cell(cost, name)).join(' | ')} |`),
    `| all but the client | ${costs.map(({ cost }) => total(cost).toFixed(0)).join(' | ')} |`,
  ].join('\n')
}

function renderPhases(profiles: readonly Profiled[]): string {
  const busy = profiles.filter(({ shares }) => shares.size > 0)
  const cell = (shares: Map<Phase, number>, phase: Phase) => `${((shares.get(phase) ?? 0) * 100).toFixed(0)} %`
  return [
    '### What the Node.js processes do meanwhile, 32 in flight, in percent of their processor time',
    '',
    `| Phase | ${busy.map(({ title }) => title).join(' | ')} |`,
    `|---|${busy.map(() => '---').join('|')}|`,
    ...phases.map((phase) => `| ${phase} | ${busy.map(({ shares }) => cell(shares, phase)).join(' | ')} |`),
  ].join('\n')
}
