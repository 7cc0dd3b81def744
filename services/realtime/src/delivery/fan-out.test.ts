import { Socket } from 'node:net'
import { everyone } from '@parley/contract'
import type { PositionedEvent } from '@parley/events'
import { createLogger, createMetrics } from '@parley/telemetry'
import { createDatabase } from '@parley/test'
import { expect, onTestFinished, test } from 'vitest'
import { createKnownChannels } from '../streams/known-channels.ts'
import { createOpenStreams } from '../streams/open-streams.ts'
import { createSleepWatch } from '../streams/sleep-watch.ts'
import { createEntitlement } from './entitlement.ts'
import { createFanOut } from './fan-out.ts'

const event: PositionedEvent = { pos: 1, routing: everyone, trace: null, event: 'an event' }

/** Stops this process, like SIGSTOP from its own view. */
const stopProcess = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_600)

class RecordingSocket extends Socket {
  text = ''
  readonly gotEvent = Promise.withResolvers<void>()
  override write(bytes: unknown): boolean {
    this.text += bytes
    if (this.text.includes('an event')) this.gotEvent.resolve()
    return true
  }
}

/** A live delivery to a stream of an ended session, which a wake-up finds, and to a stream of another session. */
async function openFanOut(onFeed: () => void) {
  const database = await createDatabase()
  onTestFinished(() => database.drop())
  const { db } = database
  const metrics = createMetrics({ service: 'test' })
  const channels = createKnownChannels({ db })
  const limits = { maxStreams: 9, maxStreamsPerUser: 9, maxBufferBytes: 1e6 }
  const streams = createOpenStreams({ ...limits, metrics, channels, onCountChange() {} })
  onTestFinished(streams.stopObserving)
  const open = (sessionId: string) => {
    const caller = { userId: 'ann', sessionId, userName: '', email: '', role: 'member' as const, isAdmin: false }
    const socket = new RecordingSocket()
    const stream = streams.add(socket, caller, { follower: null, watched: [], wantsPresence: false })
    stream.isLive = true
    onTestFinished(() => streams.end(stream, 'client'))
    return { stream, socket }
  }
  const ended = open('ended')
  const other = open('other')
  const sleep = createSleepWatch(async () => streams.end(ended.stream, 'session'))
  onTestFinished(sleep.stop)
  const fanOut = createFanOut({
    streams,
    entitlement: createEntitlement({ db, streams, channels }),
    sleep,
    feed() {
      onFeed()
      return { epoch: 'epoch', position: event.pos }
    },
    clock: Date.now,
    logger: createLogger({ service: 'test', level: 'silent' }),
    metrics,
  })
  return { fanOut, ended: ended.socket, other: other.socket }
}

test('a process that was stopped while it added events writes none of them to a stream whose session ended meanwhile', async () => {
  // The epoch is read after the check at the beginning of the turn, and before the first write.
  const { fanOut, ended, other } = await openFanOut(stopProcess)
  fanOut.receive([event])
  await other.gotEvent.promise
  expect(ended.text).not.toContain('an event')
})
