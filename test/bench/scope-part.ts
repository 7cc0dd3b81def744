import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { sql } from 'kysely'
import { measureDeliveries } from './fan-out-load.ts'
import { openPool, postOf } from './http-connection.ts'
import { openParleyStreams } from './parley-streams.ts'
import { type Signed, seedPeople } from './people.ts'
import { type Row, rateOf } from './report.ts'
import type { Scene } from './scene.ts'
import { inTurns, type Rounds, type Sample, sampleOf, spreadOf } from './statistics.ts'
import { ownEnvironment, root, type Stores, startParley } from './stores.ts'
import { numbered } from './stream-audience.ts'

const members = 100
const joinedByEach = 2
const inFlight = 16
const settleSeconds = 4
const goal = 1.2

/**
 * Measures a message in a channel of 100 members: once when many streams of `scope=joined` are open, and once when only
 * those of the members are.
 */
export async function measureScope(scene: Scene, stores: Stores): Promise<Row[]> {
  const { scopedStreams, simulatedStreams } = stores.options
  const signed = await seedPeople(stores, scopedStreams)
  const channel = await seedScopes(stores, simulatedStreams)
  return [await hubRow(scene, stores, channel), await endToEndRow(scene, stores, channel, signed)]
}

/**
 * Makes every person a member of some channels with 100 members each; returns the channel that the first 100 people
 * have joined.
 */
async function seedScopes({ database: { db } }: Stores, people: number): Promise<string> {
  await sql`
    insert into users (id, user_name, user_name_key, email, auto_joined, created_at)
    select id, id, id, id || '@scope.test', true, 1
    from (select uuidv7() as id from generate_series(1, ${people} - (select count(*) from users)::int)) fresh`.execute(
    db,
  )
  const channels = Math.ceil((people * joinedByEach) / members)
  const { rows } = await sql<{ id: string }>`
    insert into channels (id, kind, name, name_key, created_at)
    select id, 'public', id, id, 1 from (select uuidv7() as id from generate_series(1, ${channels})) fresh
    returning id`.execute(db)
  const ids = rows.map(({ id }) => id)
  for (let k = 0; k < joinedByEach; k++) {
    await sql`
      insert into channel_members (channel_id, user_id, joined_at)
      select (${ids}::uuid[])[((n - 1) / ${members} * ${joinedByEach} + ${k}) % ${channels} + 1], id, 1
      from (select id, row_number() over (order by id) as n from users) someone`.execute(db)
  }
  await sql`analyze`.execute(db)
  const { id } = await db
    .selectFrom('channelMembers')
    .select('channelId as id')
    .where('userId', '=', db.selectFrom('users').select('id').orderBy('id').limit(1))
    .orderBy('channelId')
    .limit(1)
    .executeTakeFirstOrThrow()
  return id
}

async function hubRow(scene: Scene, stores: Stores, channel: string): Promise<Row> {
  const { rounds, seconds, simulatedStreams } = stores.options
  const many = await startHub(scene, stores, channel, simulatedStreams)
  const few = await startHub(scene, stores, channel, members)
  await inTurns(1, { ours: () => many(1), theirs: () => few(1) })
  const measured = await inTurns(rounds, { ours: () => many(seconds), theirs: () => few(seconds) })
  const streams = `${simulatedStreams.toLocaleString('en')} streams of scope=joined at the hub, without a network`
  return costRow(`a message in a channel of ${members} members, ${streams}`, 'messages/s', measured)
}

/**
 * Starts a hub with this number of streams in a separate process. The returned function lets it deliver for some
 * seconds.
 */
async function startHub(scene: Scene, { postgresUrl }: Stores, channel: string, streams: number) {
  const file = path.join(root, 'services/realtime/src/testing/hub-load.ts')
  const hub = await scene.keep(
    () => fork(file, [postgresUrl, channel, String(streams)], { env: ownEnvironment() }),
    (started) => started.kill('SIGKILL'),
  )
  await answerOf(hub)
  return async (seconds: number): Promise<Sample> => {
    hub.send({ seconds })
    const sample = await answerOf(hub)
    if (sample.frames !== sample.messages * members) throw new Error('not every member got every message')
    return sampleOf(sample.messages, sample.seconds, sample.latenciesMs)
  }
}

interface HubAnswer {
  messages: number
  seconds: number
  frames: number
  latenciesMs: number[]
}

async function answerOf(hub: ChildProcess): Promise<HubAnswer> {
  const failed = once(hub, 'exit').then(([code]) => Promise.reject(new Error(`the hub has ended (${code})`)))
  const [answer] = await Promise.race([once(hub, 'message'), failed])
  failed.catch(() => {})
  return answer
}

async function endToEndRow(scene: Scene, stores: Stores, channel: string, signed: Signed[]): Promise<Row> {
  const { rounds, seconds, scopedStreams } = stores.options
  const rows = await stores.database.db
    .selectFrom('channelMembers')
    .select('userId')
    .where('channelId', '=', channel)
    .execute()
  const inChannel = new Set(rows.map(({ userId }) => userId))
  const insiders = signed.filter(({ userId }) => inChannel.has(userId))
  const outsiders = signed.filter(({ userId }) => !inChannel.has(userId)).slice(0, scopedStreams - members)
  if (insiders.length !== members) throw new Error(`${insiders.length} of ${members} members can sign in`)

  const parley = await startParley(scene, stores, 'deploy/local/solo.ts')
  const senders = await scene.keep(
    () => openPool(parley.port),
    (opened) => opened.close(),
  )
  const streams = await scene.keep(
    () => openParleyStreams(parley.port, insiders, members, scoped),
    (opened) => opened.close(),
  )
  const publish = async (event: number) => {
    const content = `Message ${numbered(event)}: shall we meet at the usual place?`
    const authorization = `Bearer ${insiders[event % members]!.token}`
    const request = postOf(`/channels/${channel}/messages`, JSON.stringify({ content }), { authorization })
    const { status, body } = await senders.send(request)
    if (status !== 200) throw new Error(`answered ${status}: ${body}`)
  }
  const measure = async (): Promise<Sample[]> => {
    // Waits until the presence updates that the opened streams have caused are over.
    await measureDeliveries(streams, { inFlight, seconds: settleSeconds, publish })
    const samples: Sample[] = []
    for (let round = 0; round < rounds; round++)
      samples.push(await measureDeliveries(streams, { inFlight, seconds, publish }))
    return samples
  }
  const theirs = await measure()
  const others = await scene.keep(
    () => openParleyStreams(parley.port, outsiders, outsiders.length, scoped),
    (opened) => opened.close(),
  )
  const measured = { theirs, ours: await measure() }
  others.check()
  const work = `end to end, solo, a channel of ${members} members, ${scopedStreams.toLocaleString('en')} streams of scope=joined`
  return costRow(`${work}, ${inFlight} messages in flight, each committed first`, 'deliveries/s', measured)
}

const scoped = '/events?scope=joined&presence=none'

function costRow(work: string, unit: string, rounds: Rounds): Row {
  const cost = spreadOf(rounds.ours.map(({ perSecond }, round) => rounds.theirs[round]!.perSecond / perSecond))
  return {
    part: 'scope',
    work,
    ours: rateOf(rounds.ours, unit),
    against: `the same with the ${members} streams of the members alone`,
    theirs: rateOf(rounds.theirs, unit),
    ratio: `cost ${cost.median.toFixed(2)}× (${cost.low.toFixed(2)}–${cost.high.toFixed(2)})`,
    goal: `≤ ${goal}×`,
    met: cost.median <= goal,
    figures: { cost, ...rounds },
  }
}
