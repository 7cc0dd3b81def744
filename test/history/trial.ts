import { setTimeout as delay } from 'node:timers/promises'
import { Person } from '@parley/test'
import { createChooser } from '../src/chooser.ts'
import { type Installation, launch } from '../src/launch.ts'
import { check, type Violation } from './check.ts'
import { describe } from './check-answers.ts'
import { checkLag } from './check-lag.ts'
import { readFinal } from './final.ts'
import { createHistory, type History } from './history.ts'
import { createNemesis, type Trouble } from './nemesis.ts'
import { createWorkload } from './workload.ts'

const quietPatienceMs = 60_000
/** Every reader is up to date within this time after the last fault. docs/reliability.md guarantees this. */
const upToDateMs = 10_000

export interface Trial {
  history: History
  violations: Violation[]
  troubles: Trouble[]
  /** Statistics for people. */
  report: string
}

interface TrialOptions {
  seed: number
  /** The duration of the faults. */
  milliseconds: number
  /** The interval of crashes of PostgreSQL, in addition to the other faults. */
  postgresCrashEveryMs?: number
  /** Begins with a rolling restart, before the first fault. */
  replaceFirst?: boolean
  log?: (line: string) => void
}

/** Starts an installation with two replicas of everything, lets people use it while faults happen, and checks the history. */
export async function runTrial({
  seed,
  milliseconds,
  replaceFirst = true,
  postgresCrashEveryMs,
  log = () => {},
}: TrialOptions): Promise<Trial> {
  // A long history has more pins in a channel than the default allows, and the checker does not count them.
  const installation = await launch('cluster', { replicas: 2, env: { PARLEY_MESSAGES_MAX_PINS: '10000' } })
  const history = createHistory()
  const choose = createChooser(seed)
  const workload = createWorkload(installation.baseUrl, history, choose.fork())
  const nemesis = createNemesis(installation, choose.fork(), log)
  try {
    await workload.prepare()
    workload.start()
    const unmoved = replaceFirst ? await replaceUnderLoad(installation, history) : []
    const crashes = new AbortController()
    const crashing = postgresCrashEveryMs && nemesis.crashPostgres(postgresCrashEveryMs, crashes.signal)
    await nemesis.rage(milliseconds)
    crashes.abort()
    await crashing
    const lastFault = { at: performance.now(), place: workload.steady[0]!, withinMs: upToDateMs }
    await untilQuiet(installation)
    await workload.stop()
    await untilAllHeard(history, workload)
    const root = workload.root.client.person
    const people = workload.people.map(({ client }) => client.person)
    const final = await readFinal(installation, root, people)
    const violations = [...unmoved, ...check(history, final)]
    checkLag(history, lastFault, (promise, what) => violations.push({ promise, what }))
    const report = describeTrial(history, nemesis.troubles, workload.troubles, final.stored.length)
    return { history, violations, troubles: nemesis.troubles, report }
  } catch (error) {
    throw new Error(`${(error as Error).stack}\n${installation.output.slice(-4_000)}`)
  } finally {
    await workload.close()
    await installation.discard()
  }
}

/** There is a pause of 100 ms after each try, and no first try runs for longer than all of them together. */
const maxWaits = 50

/**
 * A client that repeats a request without a reply once does not notice a rolling restart. It may be told to wait for
 * its first try.
 */
async function replaceUnderLoad(installation: Installation, { operations }: History): Promise<Violation[]> {
  const first = operations.length
  await installation.restartInTurn()
  return operations
    .slice(first)
    .filter(({ retriedFor, toldToWait }) => retriedFor.length > 1 || toldToWait > maxWaits)
    .map((operation) => ({ promise: 'a rolling restart costs one retry at most', what: describe(operation) }))
}

/** Resolves when all processes are ready again, and the last changes have taken effect. */
async function untilQuiet({ baseUrl }: Installation) {
  const until = performance.now() + quietPatienceMs
  for (let ready = 0; ready < 5; ) {
    const { status } = await Person.nobody(baseUrl)
      .get('/health/ready')
      .catch(() => ({ status: 0 }))
    ready = status === 200 ? ready + 1 : 0
    if (performance.now() > until) throw new Error('not everything is ready again')
    await delay(100)
  }
}

/**
 * Resolves when every open stream has the last message and the streams of ended sessions have ended, or after a time
 * limit. Then the checker reports what is missing.
 */
async function untilAllHeard(history: History, { readers, says }: ReturnType<typeof createWorkload>) {
  const { told } = await says('the end')
  const isLast = (cursor: string) => {
    const event = history.events.get(cursor)
    return event?.type === 'NEW_MESSAGE' && event.payload.id === told.id
  }
  const ended = (reader: (typeof readers)[number]) =>
    history.operations.some(
      ({ act, outcome }) =>
        outcome === 'ok' &&
        ((act.kind === 'logout' && act.session === reader.session) ||
          ((act.kind === 'remove' || act.kind === 'deactivate') && act.user === reader.reading.user)),
    )
  await Promise.all(
    readers.map((reader) => {
      const { reading } = reader
      const isThere = ended(reader)
        ? () => reading.connections.at(-1)?.ended !== Infinity
        : () =>
            isLast(reading.deliveries.at(-1)?.cursor ?? '') ||
            reading.deliveries.slice(-50).some(({ cursor }) => isLast(cursor))
      return reader.hears(isThere, quietPatienceMs)
    }),
  )
}

function describeTrial(
  { operations, readings, events }: History,
  troubles: readonly Trouble[],
  annoyances: ReadonlyMap<string, number>,
  stored: number,
): string {
  const count = <T>(all: readonly T[], key: (one: T) => string) =>
    [...Map.groupBy(all, key)]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, some]) => `${name} ${some.length}`)
      .join(', ')
  const connections = readings.flatMap((reading) => reading.connections)
  return [
    `operations: ${operations.length} (${count(operations, ({ outcome }) => outcome)})`,
    `  ${count(operations, ({ act }) => act.kind)}`,
    `  refused: ${count(
      operations.filter(({ outcome }) => outcome === 'refused'),
      ({ status }) => String(status),
    )}`,
    `  asked again or given up: ${[...annoyances].map(([why, times]) => `${why} ${times}`).join(', ') || 'never'}`,
    `messages stored: ${stored}`,
    `events: ${events.size}, delivered ${readings.reduce((sum, { deliveries }) => sum + deliveries.length, 0)} times to ${readings.length} readers`,
    `streams opened: ${connections.length}, of them ${connections.filter(({ after }) => after !== undefined).length} resumed`,
    `things that went wrong: ${troubles.length}`,
    `  ${count(troubles, ({ name }) => name.replace(/ \d.*$/, ''))}`,
  ].join('\n')
}
