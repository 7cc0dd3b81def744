/**
 * Live delivery without a network, for the bench: `hub-load.ts <database> <channel id> <streams>`. Opens this number of
 * streams of `scope=joined`, each of another person, on sockets that drop all data. For each message `{seconds}` from
 * its parent process it delivers messages of the channel for that time and responds with a `HubSample`.
 */
import { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { audienceOf } from '@parley/contract'
import { connectDatabase } from '@parley/database'
import type { PositionedEvent } from '@parley/events'
import { createLogger, createMetrics } from '@parley/telemetry'
import { createEntitlement } from '../delivery/entitlement.ts'
import { createFanOut } from '../delivery/fan-out.ts'
import { createKnownChannels } from '../streams/known-channels.ts'
import { createOpenStreams } from '../streams/open-streams.ts'

interface HubSample {
  messages: number
  seconds: number
  /** Number of written frames. */
  frames: number
  latenciesMs: number[]
}

class DroppingSocket extends Socket {
  frames = 0
  override write(): boolean {
    this.frames++
    return true
  }
}

const [databaseUrl, channelId, count] = process.argv.slice(2) as [string, string, string]
const { db } = connectDatabase({ url: databaseUrl, poolSize: 4, applicationName: 'parley-bench-hub', onIdleError() {} })
const metrics = createMetrics({ service: 'bench' })
const logger = createLogger({ service: 'bench', level: 'warn' })
const channels = createKnownChannels({ db })
const limits = { maxStreams: 1e9, maxStreamsPerUser: 1, maxBufferBytes: 1e9 }
const streams = createOpenStreams({ ...limits, metrics, channels, onCountChange() {} })
const entitlement = createEntitlement({ db, streams, channels })
let position = 0
const feed = () => ({ epoch: 'bench', position })
const fanOut = createFanOut({
  streams,
  entitlement,
  sleep: { isAwake: () => true, untilAwake: async () => {} },
  feed,
  clock: Date.now,
  logger,
  metrics,
})
const sockets: DroppingSocket[] = []

// The members of the channel come first, so with fewer streams people of other channels are left out.
const people = await db
  .selectFrom('users')
  .leftJoin('channelMembers', (join) =>
    join.onRef('channelMembers.userId', '=', 'users.id').on('channelMembers.channelId', '=', channelId),
  )
  .select('users.id')
  .orderBy('channelMembers.channelId')
  .limit(Number(count))
  .execute()
for (let from = 0; from < people.length; from += 1_000)
  await Promise.all(people.slice(from, from + 1_000).map(openStream))

async function openStream({ id: userId }: { id: string }) {
  const follower = await channels.follow(userId)
  const socket = new DroppingSocket()
  const caller = { userId, sessionId: userId, userName: '', email: '', role: 'member' as const, isAdmin: false }
  streams.add(socket, caller, { follower, watched: [], wantsPresence: true }).isLive = true
  channels.endOpening(follower)
  sockets.push(socket)
}

async function deliverFor(seconds: number): Promise<HubSample> {
  const latenciesMs: number[] = []
  const framesBefore = framesOf()
  const begun = performance.now()
  let now = begun
  while (now - begun < seconds * 1_000) {
    const events: PositionedEvent[] = [
      { pos: position + 1, routing: audienceOf({ id: channelId, membersVersion: 1 }), trace: null, event: text() },
    ]
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiting = fanOut.untilQueued(position + 1, new AbortController().signal).then(resolve)
    await fanOut.receive(events)
    position++
    await promise
    await waiting
    // The writes follow in the turn of the event loop in which the position was reached.
    await nextTurn()
    const after = performance.now()
    latenciesMs.push(after - now)
    now = after
  }
  return {
    messages: latenciesMs.length,
    seconds: (now - begun) / 1_000,
    frames: framesOf() - framesBefore,
    latenciesMs,
  }
}

const framesOf = () => sockets.reduce((sum, { frames }) => sum + frames, 0)

const text = () =>
  JSON.stringify({ type: 'NEW_MESSAGE', payload: { id: channelId, seq: position, content: 'x'.repeat(400) } })

process.on('message', async ({ seconds }: { seconds: number }) => process.send!(await deliverFor(seconds)))
process.on('disconnect', () => process.exit())
process.send!('ready')
