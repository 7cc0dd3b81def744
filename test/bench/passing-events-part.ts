import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { usedBytes } from './memory.ts'
import { openParleyStreams } from './parley-streams.ts'
import { seedChannels, seedMembers, seedPeople } from './people.ts'
import { openPublisher } from './redis-publisher.ts'
import { grouped, megabytes, type Row } from './report.ts'
import type { Scene } from './scene.ts'
import { type Stores, startParley } from './stores.ts'

const channels = 1_000
const joinedByEach = 10
/** Number of events that a node keeps in memory. */
const keptEvents = 10_000
const shares = [0.025, 0.05, 0.1, 0.25, 0.5, 1]
const perTurn = 20
const turnMs = 10
const goalGrowth = 1.1

/**
 * Sends as many events as a team makes in months through one node with streams of `scope=joined`. Each event is for the
 * members of one channel. The node keeps the newest 10,000 events; once it has that many, its memory must not grow.
 */
export async function measurePassingEvents(scene: Scene, stores: Stores): Promise<Row[]> {
  const { streams: count, passingEvents } = stores.options
  const people = await seedPeople(stores, count)
  const ids = await seedChannels(stores, channels)
  const members = people.flatMap((author, person) =>
    Array.from({ length: joinedByEach }, (_, n) => ({ author, channelId: ids[(person * 7 + n * 101) % channels]! })),
  )
  await seedMembers(stores, members)
  const collector = path.join(import.meta.dirname, 'collect-garbage.ts')
  const file = path.join(stores.directory, 'memory.json')
  const node = await startParley(scene, stores, 'services/realtime/src/main.ts', {
    nodeFlags: ['--expose-gc', '--import', `${pathToFileURL(collector)}?to=${file}`],
  })
  const streams = await scene.keep(
    () => openParleyStreams(node.port, people, count, '/events?scope=joined&presence=none'),
    (opened) => opened.close(),
  )
  const { publish } = await openPublisher(scene, stores)
  const measured = [{ events: 0, bytes: await usedBytes(node.pid, file) }]
  let passed = 0
  for (const upTo of shares.map((share) => share * passingEvents)) {
    while (passed < upTo) {
      const some = Array.from({ length: perTurn }, () => eventIn(ids[passed++ % channels]!, passed))
      await Promise.all(some.map(({ event, routing }) => publish(event, routing)))
      await delay(turnMs)
    }
    streams.check()
    measured.push({ events: passed, bytes: await usedBytes(node.pid, file) })
  }

  const [begin, , ...rest] = measured
  const full = rest.find(({ events }) => events >= keptEvents) ?? rest.at(-1)!
  const last = rest.at(-1)!
  const growth = last.bytes / full.bytes
  return [
    {
      part: 'passing',
      work: `memory of a realtime node with ${grouped(count)} streams, after ${grouped(last.events)} events`,
      ours: `${megabytes(last.bytes)} (${measured.map(({ events, bytes }) => `${megabytes(bytes)} after ${grouped(events)}`).join(', ')})`,
      against: `itself, when ${grouped(keptEvents)} events are in memory, ${((full.bytes - begin!.bytes) / keptEvents / 1_024).toFixed(1)} KB each`,
      theirs: megabytes(full.bytes),
      ratio: `${growth.toFixed(2)}×`,
      goal: `≤ ${goalGrowth}×`,
      met: growth <= goalGrowth,
      figures: measured,
    },
  ]
}

/** The event as the relay publishes it for a person's message. */
function eventIn(channelId: string, number: number): { event: string; routing: string } {
  const id = `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`
  const payload = {
    id,
    seq: number,
    author: { id, userName: 'somebody' },
    channelId,
    threadId: null,
    rev: 1,
    content: 'Shall we meet at the usual place, or has somebody a better idea for today?',
    blocks: [],
    attachments: [],
    images: [],
    imageSizes: {},
    previews: [],
    quotedMessageId: null,
    mentions: [],
    pinnedAt: null,
    createdAt: Date.now(),
    updatedAt: null,
    reactions: {},
    threadMeta: null,
  }
  return {
    event: JSON.stringify({ type: 'NEW_MESSAGE', payload }),
    routing: JSON.stringify({ to: 'channel', channel: channelId, version: 1 }),
  }
}
