import type { Config } from '@parley/config'
import type { Database } from '@parley/database'
import type { Feed, PositionedEvent } from '@parley/events'
import type { Logger } from '@parley/telemetry'
import { type Cursor, frameOf } from '../streams/frames.ts'
import type { OpenStreams } from '../streams/open-streams.ts'
import type { SleepWatch } from '../streams/sleep-watch.ts'
import type { OpenStream } from '../streams/stream.ts'
import { closeSignal, drained } from '../streams/stream-socket.ts'
import type { Waiting } from './delivery-metrics.ts'
import { type Entitlement, receives } from './entitlement.ts'
import type { FanOut } from './fan-out.ts'

export interface ResumeParts {
  db: Database
  feed: () => Feed
  fanOut: FanOut
  entitlement: Entitlement
  streams: OpenStreams
  sleep: Pick<SleepWatch, 'wake'>
  waiting: Waiting
  events: Pick<Config['events'], 'replaySeconds' | 'resumeMaxEvents'>
  clock: () => number
  logger: Logger
}

/** Where a resumed stream begins: after a position, with the first page of what it missed if that was read already. */
export interface Start {
  after: number
  page: PositionedEvent[] | null
}

export type Resume = ReturnType<typeof createResume>

const pageEvents = 200
const enoughUnsentBytes = 64 * 1024
const patienceMs = 60_000

/** Brings returning clients from their cursor to the live stream. */
export function createResume({
  db,
  feed,
  fanOut,
  entitlement,
  streams,
  sleep,
  waiting,
  events,
  clock,
  logger,
}: ResumeParts) {
  /**
   * Where a stream with this cursor begins; null when it cannot resume: it starts live and its client fetches
   * everything anew. A consumer may resume beyond the replay window, because events are kept for it.
   */
  async function findStart(cursor: Cursor | null, isConsumer = false): Promise<Start | null> {
    if (!cursor || cursor.epoch !== feed().epoch) return null
    const after = cursor.pos
    if (after === fanOut.position()) return { after, page: null }
    // Another node was ahead of this one, so the client waits here. A position that was never given out does not resume.
    if (after > fanOut.position()) return (await isHistory(db, cursor)) ? { after, page: null } : null

    if (!isConsumer && fanOut.position() - after > events.resumeMaxEvents) return null
    const page = await feed().read(after, pageEvents)
    return page === 'gone' || (!isConsumer && isTooOld(page[0])) ? null : { after, page }
  }

  /** Whether an event is older than the replay window. Such an event may still be kept, but only by chance. */
  function isTooOld(missed: PositionedEvent | undefined) {
    const { recordedAt } = missed ?? {}
    return recordedAt !== undefined && recordedAt < clock() - events.replaySeconds * 1_000
  }

  /** Replays what was missed, in order, and then lets the stream take part in live delivery. Never rejects. */
  async function replay(stream: OpenStream, start: Start): Promise<void> {
    try {
      await catchUp(stream, start)
    } catch (error) {
      logger.warn({ err: error }, 'a stream could not be resumed')
      streams.end(stream, 'failed')
    }
  }

  /**
   * Replays until the stream has everything up to the position of live delivery, and then makes it live. The position changes only
   * between turns of the event loop, and all live streams get what comes after it. So a stream gets each event once.
   */
  async function catchUp(stream: OpenStream, { after, page }: Start) {
    while (!stream.isEnded) {
      const position = fanOut.position()
      if (after === position) {
        stream.isLive = true
        return
      }
      if (after > position) {
        await fanOut.reached(after, closeSignal(stream.socket))
        continue
      }
      const known = page
      page = null
      const events = await waiting.whileReading(stream, after, () => read(after, known))
      if (events === 'gone' || events.length === 0) return streams.end(stream, 'gone')
      await sleep.wake()
      if (stream.isEnded) return
      after = send(stream, events, fanOut.position())
      await waitForClient(stream)
    }
  }

  /** The next events, with what is needed to judge them. */
  async function read(after: number, known: PositionedEvent[] | null) {
    const events = known ?? (await feed().read(after, pageEvents))
    if (events !== 'gone') await entitlement.load(events)
    return events
  }

  /** Writes the events that the client may receive, up to the position of live delivery; returns the last position. */
  function send(stream: OpenStream, events: PositionedEvent[], until: number): number {
    const { epoch } = feed()
    const frames: Buffer[] = []
    let last = events[0]!.pos - 1
    for (const event of events) {
      if (event.pos > until) break
      last = event.pos
      if (event.event === null || !receives(entitlement.judge(event.routing), stream)) continue
      frames.push(frameOf(event, epoch))
    }
    // Not limited like live delivery: a replay waits for its client, so at most this one page is unsent.
    if (frames.length > 0) stream.socket.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames))
    return last
  }

  /** Waits while the client is slower than the replay. Ends a stream whose client has read nothing for long. */
  async function waitForClient(stream: OpenStream) {
    const { socket } = stream
    while (!stream.isEnded && socket.writableLength > enoughUnsentBytes) {
      if (!(await drained(socket, patienceMs))) streams.end(stream, 'slow')
    }
  }

  return { findStart, replay }
}

/** Whether this position was ever given out: the database knows the newest one. */
async function isHistory(db: Database, { epoch, pos }: Cursor): Promise<boolean> {
  const lease = await db.selectFrom('relayLease').select(['epoch', 'pos']).executeTakeFirst()
  return lease?.epoch === epoch && pos <= lease.pos
}
