import { setTimeout as delay } from 'node:timers/promises'
import { openPool } from './http-connection.ts'
import { liveThrough, type Taken } from './open-loop.ts'
import { machineTime, readProcessorTime } from './processor-time.ts'
import type { Row } from './report.ts'
import type { Scene } from './scene.ts'
import { type Stores, startParley } from './stores.ts'
import { type ActionName, actionsOf } from './team-actions.ts'
import { seedTeam, type Team } from './team-seed.ts'
import { TeamStreams } from './team-streams.ts'

const against = 'Mattermost, as published: 6,500 people, 8 application and 16 database vCPUs'
const runInSeconds = 5

/** Milliseconds. */
interface Figures {
  mean?: number
  p99: number
}

const published: Partial<Record<ActionName, Figures>> = {
  'post a message': { mean: 148, p99: 613 },
  'switch to a channel': { p99: 80 },
  'search messages': { p99: 965 },
}

interface Step {
  people: number
  taken: Map<string, Taken>
  /** Number of busy processors, by the process that used them. */
  busy: Record<string, number>
  failure?: string
}

/**
 * Measures how large a team one server carries. All people are connected and do what people of a team do, as often as
 * they do it. The team grows step by step. The result is the largest team whose waiting times are all shorter than
 * those that Mattermost has published.
 */
export async function measureTeam(scene: Scene, stores: Stores): Promise<Row[]> {
  const team = await seedTeam(scene, stores)
  if (stores.options.fill) return []
  const steps: Step[] = []
  for (const people of stores.options.teamPeople) {
    const step = await liveAs(scene, stores, team, people)
    steps.push(step)
    process.stderr.write(`  ${lineOf(step)}\n`)
    if (step.failure) break
  }
  return rowsOf(steps)
}

let running: { streams: TeamStreams; port: number; pid: number } | undefined

async function liveAs(scene: Scene, stores: Stores, team: Team, people: number): Promise<Step> {
  running ??= await open(scene, stores)
  const { streams, port, pid } = running
  const { size } = await streams.state()
  await streams.add(team.people.slice(size, people))
  const api = openPool(port)
  const { seconds, rounds } = stores.options
  const actions = actionsOf(team, people, api, streams)
  const roots = { parley: pid, ...stores.pids }
  const step: Step = { people, taken: new Map(), busy: {} }
  try {
    await delay(1_000)
    await liveThrough(actions, runInSeconds)
    const [begun, before, machineBefore] = [performance.now(), await readProcessorTime(roots), machineTime()]
    step.taken = await liveThrough(actions, seconds * rounds * 2)
    const [ms, after, machineAfter] = [performance.now() - begun, await readProcessorTime(roots), machineTime()]
    step.busy = Object.fromEntries(Object.entries(after).map(([name, used]) => [name, (used - before[name]!) / ms]))
    const ours = Object.values(step.busy).reduce((sum, share) => sum + share, 0)
    step.busy['all else'] = Math.max(0, (machineAfter - machineBefore) / ms - ours)
    const { size, open, notResumed, refused } = await streams.state()
    if (open < size) step.failure = `${size - open} streams are not open`
    if (notResumed + refused > 0) step.failure = `${notResumed} streams did not resume`
  } catch (error) {
    step.failure = (error as Error).message
  } finally {
    api.close()
  }
  return step
}

async function open(scene: Scene, stores: Stores) {
  const { port, pid } = await startParley(scene, stores, 'deploy/local/solo.ts')
  const streams = await scene.keep(
    () => new TeamStreams(port),
    (opened) => opened.close(),
  )
  return { streams, port, pid }
}

const isBetter = ({ meanMs, p99Ms }: Taken, { mean, p99 }: Figures) => p99Ms <= p99 && meanMs <= (mean ?? p99)

const holds = ({ taken, failure }: Step) =>
  failure === undefined &&
  Object.entries(published).every(([name, figures]) => taken.has(name) && isBetter(taken.get(name)!, figures))

function rowsOf(steps: readonly Step[]): Row[] {
  const best = steps.filter(holds).at(-1) ?? steps[0]!
  const people = best.people.toLocaleString('en')
  return [
    {
      part: 'team',
      work: 'team, solo: people connected whose figures are all better',
      ours: holds(best) ? `${people} (${busyOf(best)})` : `none of ${people}`,
      against,
      theirs: '6,500',
      ratio: `${(best.people / 6_500).toFixed(1)}×`,
      goal: 'as many as hold',
      met: holds(best),
      figures: steps.map((step) => ({ ...step, taken: Object.fromEntries(step.taken) })),
    },
    ...[...best.taken].map(([name, taken]) => rowOf(people, name as ActionName, taken)),
  ]
}

function rowOf(people: string, name: ActionName, taken: Taken): Row {
  const figures = published[name]
  return {
    part: 'team',
    work: `team of ${people}, solo: ${name}`,
    ours: `mean ${ms(taken.meanMs)}, p99 ${ms(taken.p99Ms)} (${taken.count})`,
    against: figures ? against : '–',
    theirs: figures ? textOf(figures) : '–',
    ratio: figures ? `${(taken.p99Ms / figures.p99).toFixed(2)}× of p99` : '–',
    goal: figures ? '≤ 1×' : '–',
    met: figures && isBetter(taken, figures),
  }
}

const textOf = ({ mean, p99 }: Figures) => `${mean === undefined ? '' : `mean ${mean} ms, `}p99 ${p99} ms`

const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`

const busyOf = ({ busy }: Step) =>
  Object.entries(busy)
    .map(([name, share]) => `${name} ${(share * 100).toFixed(0)} %`)
    .join(', ')

function lineOf(step: Step) {
  const { people, taken, failure } = step
  const figures = [...taken].map(([name, each]) => `${name} ${ms(each.meanMs)}/${ms(each.p99Ms)}`)
  return [
    `${people.toLocaleString('en')} people: ${holds(step) ? 'holds' : 'too many'}`,
    busyOf(step),
    ...figures,
    failure,
  ]
    .filter(Boolean)
    .join('; ')
}
