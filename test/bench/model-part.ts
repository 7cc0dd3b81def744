import { uuidv7 } from '@parley/database'
import { type LivingCluster, openCluster, type Stretch } from './living-cluster.ts'
import { type Behaviour, type Costs, followingFrom, predict, reachOf, type Used, usedFor } from './model.ts'
import { type MeasuredCosts, measureCosts } from './model-costs.ts'
import { renderCheck, renderCosts, renderPredictions, renderReach, roundedPeople } from './model-report.ts'
import { seedMembers } from './people.ts'
import type { Row } from './report.ts'
import type { Scene } from './scene.ts'
import type { Stores } from './stores.ts'
import { ratesOf } from './team-actions.ts'
import { seedTeam, type Team } from './team-seed.ts'

/** The number of open streams with which the costs are measured. */
const connected = 2_000
/** The number of people with whom the prediction is checked; they act as often as people do. */
const checkedPeople = 8_000
const sizes = [10_000, 30_000, 100_000, 300_000, 1_000_000]
const withinGoal = 0.3
/** Measured by `--only memory`. */
const streamBytes = 7_200

/**
 * Measures what each action of a team costs in each process of a cluster, and derives from that what larger
 * organisations need. To check the model, its prediction for other numbers of people and streams and for other rates on
 * this machine is compared with a measurement.
 */
export async function measureModel(scene: Scene, stores: Stores): Promise<Row[]> {
  const { seconds, rounds, fill } = stores.options
  const team = await seedTeam(scene, stores)
  if (fill) return []
  const people = Math.min(connected, team.people.length)
  const channelId = await seedEverybodysChannel(stores, team, people)

  const one = await openCluster(scene, stores, team, people, 1)
  const { costs: measured, stretches } = await measureCosts(one, channelId, seconds)
  await one.close()
  const two = await openCluster(scene, stores, team, people, 2)
  const costs = { ...measured, streamBytes, furtherNodeUs: await costOfFurtherNode(two, measured, seconds) }
  await two.close()

  const many = Math.min(checkedPeople, team.people.length)
  const checked = await openCluster(scene, stores, team, many, 1)
  await checked.live(checked.actions, seconds)
  const lived = await checked.live(checked.actions, seconds * rounds * 2)
  await checked.close()

  const behaviour = behaviourOf(team, team.people.length)
  const predictions = sizes.map((size) => predict(costs, behaviour, size))
  const reach = reachOf(costs, behaviour)
  const { name, people: reached, remedy } = reach[0]!
  return [
    checkRow(costs, behaviourOf(team, many), lived, many),
    {
      part: 'model',
      work: 'model: the first limit that no further process removes',
      ours: `${name}, at ${roundedPeople(reached)} people`,
      against: '–',
      theirs: remedy,
      ratio: '–',
      goal: '–',
      met: undefined,
      figures: { costs, predictions, stretches },
      details: [renderCosts(costs), renderPredictions(predictions), renderReach(reach)].join('\n\n'),
    },
  ]
}

/** A public channel that all connected people have joined. Messages are only posted there while costs are measured. */
async function seedEverybodysChannel({ database }: Stores, team: Team, people: number): Promise<string> {
  const { pool } = database
  const name = 'everybody'
  await pool.query(
    `insert into channels (id, kind, name, name_key, created_at)
     select $1, 'public', $2, $2, $3 where not exists (select from channels where name = $2)`,
    [uuidv7(), name, Date.now()],
  )
  const { rows } = await pool.query<{ id: string }>('select id from channels where name = $1', [name])
  const [{ id: channelId }] = rows as [{ id: string }]
  for (const [userId, joined] of team.publicOf) {
    team.publicOf.set(
      userId,
      joined.filter((id) => id !== channelId),
    )
  }
  const members = team.people.slice(0, people).map((author) => ({ author, channelId }))
  await seedMembers({ database }, members)
  return channelId
}

/** Processor time of Redis for each step of the relay beyond what is predicted for one realtime node. */
async function costOfFurtherNode(two: LivingCluster, costs: MeasuredCosts, seconds: number): Promise<number> {
  const beyond = (stretch: Stretch) => stretch.used.redis! - usedFor(costs, stretch).redis!
  let [us, steps] = [0, 0]
  for (const perSecond of [30, 60, 30, 60]) {
    const without = await two.live(two.actions, seconds)
    const beside = await two.live([...two.actions, two.postToOne(perSecond)], seconds)
    us += beyond(beside) - beyond(without)
    steps += beside.steps - without.steps
  }
  return Math.max(0, us / steps)
}

/**
 * Number of open streams that the event of an action reaches on average, when the first `people` of the team are
 * connected.
 */
function behaviourOf(team: Team, people: number): Behaviour {
  const connected = new Set(team.people.slice(0, people).map(({ userId }) => userId))
  const reach = (of: Map<string, string[]>) => {
    const members = new Map<string, number>()
    for (const [userId, channels] of of) {
      if (connected.has(userId)) for (const id of channels) members.set(id, (members.get(id) ?? 0) + 1)
    }
    // People talk in the channels that they have joined, so a larger channel gets more messages.
    const counts = [...members.values()]
    return counts.reduce((sum, count) => sum + count * count, 0) / counts.reduce((sum, count) => sum + count, 0)
  }
  const reached = { public: reach(team.publicOf), private: reach(team.privateOf), direct: reach(team.conversationsOf) }
  const post = 0.1 * reached.public + 0.6 * reached.private + 0.3 * reached.direct
  return {
    perSecond: ratesOf(1),
    deliveries: {
      'post a message': post,
      'mark as read': 1,
      'open a direct conversation': 2,
      react: reached.public,
      'edit a message': post,
    },
  }
}

/** Compares the predicted and the measured processor time of all servers on this machine. */
function checkRow(costs: Costs, behaviour: Behaviour, lived: Stretch, people: number): Row {
  const { seconds } = lived
  const happening = followingFrom(costs, behaviour, lived.counts, seconds)
  const predicted = Object.fromEntries(
    Object.entries(usedFor(costs, happening)).map(([process, us]) => [process, us + seconds * costs.idle[process]!]),
  )
  const processors = (used: Used) => Object.values(used).reduce((sum, us) => sum + us, 0) / 1e6 / seconds
  const [foretold, found] = [processors(predicted), processors(lived.used)]
  return {
    part: 'model',
    work: `model: processors in use on this machine, cluster, team of ${people.toLocaleString('en')}`,
    ours: `predicted ${foretold.toFixed(2)}`,
    against: 'measured',
    theirs: found.toFixed(2),
    ratio: `${(foretold / found).toFixed(2)}×`,
    goal: `within ${withinGoal * 100} %`,
    met: Math.abs(foretold / found - 1) <= withinGoal,
    figures: { predicted, lived },
    details: renderCheck({ ...happening, used: predicted }, lived),
  }
}
