import type { Config } from '@parley/config'
import type { Database } from '@parley/database'
import { type Cursor, type Feed, findNewestPosition, type PositionedEvent } from '@parley/events'
import type { Logger } from '@parley/telemetry'
import { frameOf } from '../streams/frames.ts'
import type { OpenStreams } from '../streams/open-streams.ts'
import type { SleepWatch } from '../streams/sleep-watch.ts'
import type { OpenStream } from '../streams/stream.ts'
import { closeSignal, drained } from '../streams/stream-socket.ts'
import type { Waiting } from './delivery-metrics.ts'
import { type Entitlement, receives } from './entitlement.ts'
import type { FanOut } from './fan-out.ts'

interface ResumeParts {
  db: Database
  feed: Feed
  fanOut: FanOut
  entitlement: Entitlement
  streams: OpenStreams
  sleep: Pick<SleepWatch, 'untilAwake'>
  waiting: Waiting
  events: Pick<Config['events'], 'replaySeconds' | 'resumeMaxEvents'>
  clock: () => number
  logger: Logger
}

/** Where a resumed stream begins: after a position. `page` has the first missed events if they were read already. */
export interface Start {
  after: number
  page: PositionedEvent[] | null
}

export type Resume = ReturnType<typeof createResume>

const pageEvents = 200
/** The replay pauses while a stream has more unsent data than this. */
const maxUnsentBytes = 64 * 1024
/** A stream ends when its client reads nothing for this time. */
const silentClientMs = 60_000

/** Replays the missed events of a client from its cursor up to the live delivery. */
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
   * Where a stream with this cursor begins. Null when it cannot resume: then it begins live, and its client fetches everything
   * again. A consumer may resume from before the replay window, because the events are kept for it.
   */
  async function findStart(cursor: Cursor | null, { isConsumer }: { isConsumer: boolean }): Promise<Start | null> {
    if (!cursor || cursor.epoch !== feed.epoch) return null
    const after = cursor.pos
    if (after === fanOut.position()) return { after, page: null }
    // The client was connected to a node that is ahead of this one, so its stream waits. A position that no event has does not resume.
    if (after > fanOut.position()) return (await isHistory(db, cursor)) ? { after, page: null } : null

    if (!isConsumer && fanOut.position() - after > events.resumeMaxEvents) return null
    const page = await feed.read(after, pageEvents)
    return page === 'gone' || (!isConsumer && isTooOld(page[0])) ? null : { after, page }
  }

  /** Whether an event is older than the replay window. Such an event may still be stored, but this is not guaranteed. */
  function isTooOld(missed: PositionedEvent | undefined) {
    const { recordedAt } = missed ?? {}
    return recordedAt !== undefined && recordedAt < clock() - events.replaySeconds * 1_000
  }

  /** Replays the missed events in order, and then makes the stream live. Never rejects. */
  async function replay(stream: OpenStream, start: Start): Promise<void> {
    try {
      await catchUp(stream, start)
    } catch (error) {
      logger.warn({ err: error }, 'a stream could not be resumed')
      streams.end(stream, 'failed')
    }
  }

  /**
   * Replays until the stream has all events up to the position of the live delivery, and then makes the stream live. The position
   * changes only between turns of the event loop, and live streams get all events after it. So a stream gets each event once.
   */
  async function catchUp(stream: OpenStream, { after, page }: Start) {
    while (!stream.isEnded) {
      const position = fanOut.position()
      if (after === position) {
        stream.isLive = true
        return
      }
      if (after > position) {
        await fanOut.untilQueued(after, closeSignal(stream.socket))
        continue
      }
      const known = page
      page = null
      const events = await waiting.whileReading(stream, after, () => read(after, known))
      if (events === 'gone' || events.length === 0) return streams.end(stream, 'gone')
      await sleep.untilAwake()
      if (stream.isEnded) return
      after = send(stream, events, fanOut.position())
      await waitForClient(stream)
    }
  }

  /** Reads the next events, and loads what is needed to find their audiences. */
  async function read(after: number, known: PositionedEvent[] | null) {
    const events = known ?? (await feed.read(after, pageEvents))
    if (events !== 'gone') await entitlement.load(events)
    return events
  }

  /** Writes the events that the stream receives, up to the position `until`. Returns the last position. */
  function send(stream: OpenStream, events: PositionedEvent[], until: number): number {
    const { epoch } = feed
    const frames: Buffer[] = []
    let last = events[0]!.pos - 1
    for (const event of events) {
      if (event.pos > until) break
      last = event.pos
      if (event.event === null || !receives(entitlement.resolveAudience(event.routing), stream)) continue
      frames.push(frameOf(event, epoch))
    }
    // This write ignores the limit of unsent data: a replay waits for its client, so at most one page is unsent.
    if (frames.length > 0) stream.socket.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames))
    return last
  }

  /** Waits while the client is slower than the replay. Ends the stream when the client reads nothing for `silentClientMs`. */
  async function waitForClient(stream: OpenStream) {
    const { socket } = stream
    while (!stream.isEnded && socket.writableLength > maxUnsentBytes) {
      if (!(await drained(socket, silentClientMs))) streams.end(stream, 'slow')
    }
  }

  return { findStart, replay }
}

/** Whether some event has this position: the database knows the newest one. */
async function isHistory(db: Database, { epoch, pos }: Cursor): Promise<boolean> {
  const newest = await findNewestPosition(db)
  return newest.epoch === epoch && pos <= newest.pos
}
