import { setTimeout as delay } from 'node:timers/promises'
import { descendantsOf, signal } from '../src/processes.ts'
import { type ConnectionPool, type HttpReply, openPool } from './http-connection.ts'
import { ownBytes } from './memory.ts'
import { liveThrough, type Taken } from './open-loop.ts'
import type { Row } from './report.ts'
import type { Scene } from './scene.ts'
import { type Stores, startParley } from './stores.ts'
import { actionsOf } from './team-actions.ts'
import { seedTeam } from './team-seed.ts'
import { TeamStreams } from './team-streams.ts'

const slices = 6
/** The slice in which every process is replaced, and the slices that begin with a vacuum, counted from 0. */
const restartIn = 2
const vacuumIn = [1, 4]
/** Growth of memory between the slices after the restart counts as a leak when it is more than this. */
const growthGoal = 1.25
const tables = ['messages', 'outbox', 'event_positions', 'message_search', 'idempotency_keys', 'sessions', 'jobs']

interface Slice {
  taken: Map<string, Taken>
  /** Largest memory of a process of its own, by service, at the end of the slice. */
  bytes: Map<string, number>
  /** Size of the tables with their indexes at the end of the slice. */
  tableBytes: Map<string, number>
  /** Requests that were sent a second time because their connection was closed before the reply. */
  repeated: number
}

/**
 * A team lives through an hour on a cluster with two replicas of everything. Meanwhile every process is replaced once and the
 * database is vacuumed twice. Nothing may fail, and memory and latency have to stay flat.
 */
export async function measureSoak(scene: Scene, stores: Stores): Promise<Row[]> {
  const { soakPeople, soakMinutes, fill } = stores.options
  const team = await seedTeam(scene, stores)
  if (fill) return []
  const cluster = await startParley(scene, stores, 'deploy/local/cluster.ts', { args: ['--replicas', '2'] })
  const streams = await scene.keep(
    () => new TeamStreams(cluster.port),
    (opened) => opened.close(),
  )
  await streams.add(team.people.slice(0, soakPeople))
  const api = repeating(openPool(cluster.port))
  const actions = actionsOf(team, soakPeople, api, streams)

  const seconds = (soakMinutes * 60) / slices
  const lived: Slice[] = []
  for (let slice = 0; slice < slices; slice++) {
    const before = api.repeated()
    const living = liveThrough(actions, seconds)
    if (slice === restartIn) signal(cluster.pid, 'SIGUSR2')
    const vacuum = vacuumIn.includes(slice) ? stores.database.pool.query('vacuum analyze') : undefined
    const [taken] = await Promise.all([living, vacuum])
    lived.push({
      taken,
      bytes: await memoryOf(cluster.pid, stores.pids),
      tableBytes: await sizesOf(stores),
      repeated: api.repeated() - before,
    })
    process.stderr.write(`  slice ${slice + 1} of ${slices} is over\n`)
  }
  await delay(1_000)
  const { size, open, notResumed, refused } = await streams.state()
  api.close()
  return [rowOf(stores, lived, { lostStreams: size - open + notResumed, refused })]
}

interface RepeatingPool extends ConnectionPool {
  repeated(): number
}

/** Any idle connection of the pool may have been closed meanwhile. */
const maxTries = 10

/** Sends a request again when its connection was closed before the reply, as browsers do with an idle connection. */
function repeating(pool: ConnectionPool): RepeatingPool {
  let repeated = 0
  async function send(request: Buffer, tries = 1): Promise<HttpReply> {
    try {
      return await pool.send(request)
    } catch (error) {
      if (tries === maxTries) throw error
      repeated++
      return send(request, tries + 1)
    }
  }
  return { send, repeated: () => repeated, close: () => pool.close() }
}

async function memoryOf(pid: number, servers: Record<string, number>): Promise<Map<string, number>> {
  const bytes = new Map<string, number>()
  const note = async (name: string, pid: number) => {
    bytes.set(name, Math.max(bytes.get(name) ?? 0, await ownBytes(pid).catch(() => 0)))
  }
  for (const each of await descendantsOf(pid)) {
    const service = /services\/(\w+)\/src\/main\.ts/.exec(each.command)?.[1]
    if (service) await note(service, each.pid)
  }
  for (const [name, pid] of Object.entries(servers)) {
    await note(name, pid)
    for (const each of await descendantsOf(pid)) await note(name, each.pid)
  }
  return bytes
}

async function sizesOf({ database: { pool } }: Stores): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ name: string; bytes: string }>(
    `select name, coalesce(sum(pg_total_relation_size(coalesce(i.inhrelid, name::regclass))), 0) as bytes
     from unnest($1::text[]) name left join pg_inherits i on i.inhparent = name::regclass
     group by name`,
    [tables],
  )
  return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]))
}

function rowOf(
  { options: { soakPeople, soakMinutes } }: Stores,
  lived: readonly Slice[],
  { lostStreams, refused }: { lostStreams: number; refused: number },
): Row {
  const after = lived.slice(restartIn + 1)
  const growth = [...after[0]!.bytes].map(([name, bytes]) => ({ name, times: after.at(-1)!.bytes.get(name)! / bytes }))
  const most = growth.toSorted((a, b) => b.times - a.times)[0]!
  const repeated = lived.reduce((sum, slice) => sum + slice.repeated, 0)
  return {
    part: 'soak',
    work: `${soakPeople.toLocaleString('en')} people for ${soakMinutes} minutes, two of each process, every process replaced once, two vacuums`,
    ours: `${lostStreams} streams lost, ${refused} refused, ${repeated} requests sent again; memory since the restart grew most in ${most.name}: ${most.times.toFixed(2)}×`,
    against: 'itself',
    theirs: '–',
    ratio: '–',
    goal: `nothing lost, memory ≤ ${growthGoal}×`,
    met: lostStreams + refused === 0 && most.times <= growthGoal,
    figures: lived,
    details: renderSlices(soakMinutes / slices, lived),
  }
}

function renderSlices(minutes: number, lived: readonly Slice[]): string {
  const minute = (slice: number) => (slice * minutes).toLocaleString('en', { maximumFractionDigits: 1 })
  const titles = lived.map((_, slice) => `${minute(slice)}–${minute(slice + 1)} min`)
  const row = (name: string, cell: (slice: Slice) => string) => `| ${name} | ${lived.map(cell).join(' | ')} |`
  const megabytes = (bytes: number | undefined) => (bytes === undefined ? '–' : `${(bytes / 2 ** 20).toFixed(0)} MB`)
  const names = (pick: (slice: Slice) => Map<string, unknown>) => [
    ...new Set(lived.flatMap((slice) => [...pick(slice).keys()])),
  ]
  return [
    '### A long life, by slices of time',
    '',
    `| | ${titles.join(' | ')} |`,
    `|---|${titles.map(() => '---').join('|')}|`,
    ...names(({ taken }) => taken).map((name) =>
      row(`p99 of: ${name}`, ({ taken }) => `${taken.get(name)?.p99Ms.toFixed(0) ?? '–'} ms`),
    ),
    ...names(({ bytes }) => bytes).map((name) => row(`memory: ${name}`, ({ bytes }) => megabytes(bytes.get(name)))),
    ...names(({ tableBytes }) => tableBytes).map((name) =>
      row(`table: ${name}`, ({ tableBytes }) => megabytes(tableBytes.get(name))),
    ),
    row('requests sent again', ({ repeated }) => String(repeated)),
  ].join('\n')
}
