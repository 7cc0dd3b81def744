import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { openPool } from './http-connection.ts'
import type { Used } from './model.ts'
import { type Action, liveThrough } from './open-loop.ts'
import { readBackendTime, readCpuTime, serverProcesses } from './processor-time.ts'
import type { Scene } from './scene.ts'
import { type Stores, startParley } from './stores.ts'
import { type ActionName, actionsOf } from './team-actions.ts'
import { send, type Team } from './team-seed.ts'
import { TeamStreams } from './team-streams.ts'

const settleMs = 500
const posting = 'post a message' satisfies ActionName

/** What happened in a stretch of time, and the processor time that it used. */
export interface Stretch {
  seconds: number
  /** By action. */
  counts: Record<string, number>
  /** Bytes of the replies, by the name of the action. */
  responseBytes: Record<string, number>
  events: number
  /** Events written to streams, and their bytes. */
  deliveries: number
  streamBytes: number
  /** Steps of the relay. */
  steps: number
  /** Transactions that PostgreSQL commits, and times that it waits for its log to reach the disk. */
  commits: number
  flushes: number
  used: Used
  /** Processor time of PostgreSQL that serves no client: vacuum, checkpoints, writing the log. In microseconds. */
  upkeepUs: number
}

export type LivingCluster = Awaited<ReturnType<typeof openCluster>>

/** A cluster with the open streams of people, and functions that let these people act. */
export async function openCluster(scene: Scene, stores: Stores, team: Team, people: number, replicas: number) {
  const args = ['--replicas', String(replicas)]
  const cluster = await startParley(scene, stores, 'deploy/local/cluster.ts', { args })
  const streams = await scene.keep(
    () => new TeamStreams(cluster.port),
    (opened) => opened.close(),
  )
  await streams.add(team.people.slice(0, people))
  const { pool } = stores.database
  const api = openPool(cluster.port)
  const doing = new AsyncLocalStorage<string>()
  const responseBytes: Record<string, number> = {}
  const counting = {
    ...api,
    async send(request: Buffer) {
      const response = await api.send(request)
      const action = doing.getStore()!
      responseBytes[action] = (responseBytes[action] ?? 0) + response.body.length
      return response
    },
  }
  const actions = actionsOf(team, people, counting, streams)
  const postToOne = actionsOf(team, people, counting, streams, 1).find(({ name }) => name === posting)!

  async function readTotals() {
    await pool.query('select pg_stat_force_next_flush()')
    const { rows } = await pool.query<Record<'events' | 'commits' | 'flushes', number>>(`
      select (select pos from relay_lease)::float8 as events,
        (select xact_commit from pg_stat_database where datname = current_database())::float8 as commits,
        (select sum(fsyncs) from pg_stat_io where object = 'wal')::float8 as flushes`)
    const { events: deliveries, bytes: streamBytes } = await streams.state()
    const roots = { ...(await serverProcesses(cluster.pid)), ...stores.pids }
    const used: Used = {}
    for (const [process, { userMs, systemMs }] of Object.entries(await readCpuTime(roots))) {
      const service = process.replace(/-\d+$/, '')
      used[service] = (used[service] ?? 0) + (userMs + systemMs) * 1_000
    }
    const backends = await readBackendTime(stores.pids.postgres!)
    const seconds = performance.now() / 1_000
    return {
      counted: { seconds, deliveries, streamBytes, ...rows[0]! },
      responseBytes: { ...responseBytes },
      used,
      backends,
    }
  }

  /** The log of positions has a row for each step. */
  async function countSteps(afterEvent: number) {
    const { rows } = await pool.query<{ n: number }>(
      'select count(*)::float8 as n from event_positions where last_pos > $1',
      [afterEvent],
    )
    return rows[0]!.n
  }

  /** Lets people act for some seconds. Actions with the same name are counted together. */
  async function live(acting: readonly Action[], seconds: number): Promise<Stretch> {
    await delay(settleMs)
    const before = await readTotals()
    const taken = await liveThrough(
      acting.map(({ name, perSecond, act }, index) => ({
        name: `${index}`,
        perSecond,
        act: () => doing.run(name, act),
      })),
      seconds,
    )
    // The work that follows the last action, such as the delivery of its event, is counted too.
    await delay(settleMs)
    const after = await readTotals()

    const counts: Record<string, number> = {}
    for (const [index, { count }] of taken) {
      const { name } = acting[Number(index)]!
      counts[name] = (counts[name] ?? 0) + count
    }
    const used = difference(after.used, before.used)
    const ofBackends = [...after.backends].map(([pid, ms]) => (ms - (before.backends.get(pid) ?? 0)) * 1_000)
    return {
      ...difference(after.counted, before.counted),
      counts,
      responseBytes: difference(after.responseBytes, before.responseBytes),
      steps: await countSteps(before.counted.events),
      used,
      upkeepUs: used.postgres! - ofBackends.reduce((sum, us) => sum + us, 0),
    }
  }

  return {
    /** The actions of people, each at the rate at which people do it. */
    actions,
    live,
    postToOne: (perSecond: number): Action => ({ ...postToOne, perSecond }),
    postTo: (channelId: string, perSecond: number): Action => ({
      name: posting,
      perSecond,
      async act() {
        const { token } = team.people[Math.floor(Math.random() * people)]!
        const content = 'Something that everybody should know.'
        await send(counting, `/channels/${channelId}/messages`, { content }, token)
      },
    }),
    async close() {
      api.close()
      await streams.close()
      await cluster.stop()
    },
  }
}

const difference = <Key extends string>(after: Record<Key, number>, before: Record<Key, number>) =>
  Object.fromEntries(
    Object.entries<number>(after).map(([key, value]) => [key, value - (before[key as Key] ?? 0)]),
  ) as Record<Key, number>
