import { Agent } from 'undici'
import { type LargeServer, sizeOf } from './client-seed.ts'
import { openPool, postOf } from './http-connection.ts'
import { type ProcessorTime, readProcessorTime } from './processor-time.ts'
import { grouped, type Row } from './report.ts'
import type { Scene } from './scene.ts'
import { spreadOf } from './statistics.ts'
import type { Parley, Stores } from './stores.ts'
import { StormStreams } from './storm-streams.ts'

/** The stream as the engine of `libs/client` requests it. */
const path = '/events?scope=joined&presence=none'
/** Messages sent while all clients are disconnected, each to a channel with about 200 of them as members. */
const missedMessages = 100
/** Requests that all clients together have under way. */
const maxConnections = 2_000
const maxRounds = 3
const goalSeconds = 10

interface StormParts {
  scene: Scene
  stores: Stores
  parley: Parley
  server: LargeServer
  /** Fetches what a client asks for when it starts without stored data; returns how many bytes were received. */
  fetchAnew: (api: Agent, token: string) => Promise<number>
}

interface Storm {
  /** Time until every stream is open again and every client has what it asked for. */
  seconds: number
  /** Bytes of the streams and the replies. */
  bytes: number
  /** Seconds of processor time, by the process that used them. */
  processor: ProcessorTime
}

/**
 * All connections break at the same moment, and every client comes back after the `retry:` of its stream. With a known
 * cursor a client needs nothing but its stream, which delivers what it has missed. With an unknown cursor it fetches
 * what it shows at its start.
 */
export async function measureClientStorms({ scene, stores, parley, server, fetchAnew }: StormParts): Promise<Row[]> {
  const { clients } = server
  const { options, database } = stores
  const streams = await scene.keep(
    () => StormStreams.open(parley.port, clients, path),
    (opened) => opened.close(),
  )
  const api = await scene.keep(
    () => new Agent({ connections: maxConnections }),
    (agent) => agent.close(),
  )
  const roots = { parley: parley.pid, ...stores.pids }
  const { rows: channels } = await database.pool.query<{ id: string; members: number; author: string }>(
    `select channel_id as id, count(*)::int as members, min(user_id::text) as author from channel_members
     where user_id = any($1::uuid[]) group by channel_id order by channel_id limit $2`,
    [clients.map(({ userId }) => userId), missedMessages],
  )
  const tokens = new Map(clients.map(({ userId, token }) => [userId, token]))

  /** Streams that get these messages. */
  async function talk(): Promise<number> {
    const pool = openPool(parley.port)
    for (const { id, author } of channels) {
      const body = JSON.stringify({ content: 'Shall we meet at the usual place?' })
      const { status } = await pool.send(
        postOf(`/channels/${id}/messages`, body, { authorization: `Bearer ${tokens.get(author)}` }),
      )
      if (status !== 200) throw new Error(`a message was answered ${status}`)
    }
    pool.close()
    return channels.reduce((sum, { members }) => sum + members, 0)
  }

  async function storm(comeBack: () => Promise<number>): Promise<Storm> {
    const [before, bytes] = [await readProcessorTime(roots), streams.bytes]
    const begun = performance.now()
    const responseBytes = await comeBack()
    const seconds = (performance.now() - begun) / 1_000
    const used = Object.entries(await readProcessorTime(roots)).map(([name, ms]) => [
      name,
      (ms - before[name]!) / 1_000,
    ])
    return { seconds, bytes: streams.bytes - bytes + responseBytes, processor: Object.fromEntries(used) }
  }

  async function comeBackWithCursors() {
    const before = streams.events
    streams.cut()
    const missed = await talk()
    await streams.until(() => streams.open === streams.size, 'a stream does not come back')
    // Each stream gets CONNECTED in addition to the events that it has missed.
    const expected = before + streams.size + missed
    await streams.until(() => streams.events >= expected, 'a stream has not got everything')
    if (streams.events > expected) throw new Error('a stream has got more than it has missed')
    if (streams.notResumed > 0) throw new Error(`${streams.notResumed} streams did not resume`)
    return 0
  }

  async function comeBackWithoutCursors() {
    let bytes = 0
    streams.cut()
    streams.forgetCursors()
    await talk()
    await Promise.all(
      clients.map(async ({ token }, index) => {
        await streams.opened(index)
        // Not `+= await …`: that would read the sum before the await, and lose what others add to it meanwhile.
        const fetched = await fetchAnew(api, token)
        bytes += fetched
      }),
    )
    return bytes
  }

  const rounds = Math.min(maxRounds, options.rounds)
  const rows: Row[] = []
  for (const { resumed, comeBack } of [
    { resumed: true, comeBack: comeBackWithCursors },
    { resumed: false, comeBack: comeBackWithoutCursors },
  ]) {
    const storms: Storm[] = []
    for (let round = 0; round < rounds; round++) storms.push(await storm(comeBack))
    const work = `${grouped(clients.length)} clients come back at once with \`resumed: ${resumed}\`, ${sizeOf(options)}`
    rows.push(rowOf(work, clients.length, storms, resumed ? goalSeconds : undefined))
  }
  return rows
}

function rowOf(work: string, clients: number, storms: Storm[], goalSeconds: number | undefined): Row {
  const { median, low, high } = spreadOf(storms.map(({ seconds }) => seconds))
  const bytes = spreadOf(storms.map((each) => each.bytes)).median
  const processor = Object.keys(storms[0]!.processor).map(
    (name) => `${name} ${spreadOf(storms.map((each) => each.processor[name]!)).median.toFixed(1)}`,
  )
  return {
    part: 'client',
    work,
    ours:
      `${median.toFixed(1)} s (${low.toFixed(1)}–${high.toFixed(1)}) until all are live, ${(bytes / 1e6).toFixed(1)} MB, ` +
      `${(bytes / clients / 1_000).toFixed(1)} KB each; processor seconds: ${processor.join(', ')}`,
    against: 'itself: waits of `retry:` (1–4 s) included',
    theirs: '–',
    ratio: '–',
    goal: goalSeconds === undefined ? '–' : `≤ ${goalSeconds} s`,
    met: goalSeconds === undefined ? undefined : median <= goalSeconds,
    figures: storms,
  }
}
