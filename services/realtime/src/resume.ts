import type { Config } from '@parley/config'
import type { Database } from '@parley/database'
import type { Feed, PositionedEvent } from '@parley/events'
import type { Logger } from '@parley/telemetry'
import type { Connection, Connections } from './connections.ts'
import type { Cursor } from './cursor.ts'
import { type Entitlement, isEntitled } from './entitlement.ts'
import type { FanOut } from './fan-out.ts'
import { frameOf } from './frames.ts'
import type { Waiting } from './waiting.ts'

export interface ResumeParts {
  db: Database
  feed: () => Feed
  fanOut: FanOut
  entitlement: Entitlement
  connections: Connections
  waiting: Waiting
  events: Pick<Config['events'], 'replaySeconds' | 'resumeMaxEvents'>
  clock: () => number
  logger: Logger
}

/** Where a resumed stream begins: after a position, and what was already read from there on. */
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
  connections,
  waiting,
  events,
  clock,
  logger,
}: ResumeParts) {
  /** Where a stream with this cursor can begin, or null: then it starts live and its client must fetch everything anew. */
  async function findStart(cursor: Cursor | null): Promise<Start | null> {
    if (!cursor || cursor.epoch !== feed().epoch) return null
    const after = cursor.pos
    if (after === fanOut.position()) return { after, page: null }
    // Another node was ahead of this one: the client waits here. Unless nobody ever gave out that position.
    if (after > fanOut.position()) return (await isHistory(db, cursor)) ? { after, page: null } : null

    if (fanOut.position() - after > events.resumeMaxEvents) return null
    const page = await feed().read(after, pageEvents)
    return page === 'gone' || isTooOld(page[0]) ? null : { after, page }
  }

  /** It may be kept for longer, but whether it is would be chance. */
  function isTooOld(missed: PositionedEvent | undefined) {
    const { recordedAt } = missed ?? {}
    return recordedAt !== undefined && recordedAt < clock() - events.replaySeconds * 1_000
  }

  /** Replays what was missed, in order, and then lets the connection take part in live delivery. Never rejects. */
  async function replay(connection: Connection, start: Start): Promise<void> {
    try {
      await catchUp(connection, start)
    } catch (error) {
      logger.warn({ err: error }, 'a stream could not be resumed')
      connections.end(connection, 'failed')
    }
  }

  /**
   * Live delivery moves the position between turns of the event loop only, and whoever is live then gets all of it. So
   * the moment at which everything up to the position was written is the seam: nothing twice, nothing left out.
   */
  async function catchUp(connection: Connection, { after, page }: Start) {
    while (!connection.isEnded) {
      const position = fanOut.position()
      if (after === position) {
        connection.isLive = true
        return
      }
      if (after > position) {
        await fanOut.reached(after, leaving(connection))
        continue
      }
      const known = page
      page = null
      const events = await waiting.whileReading(connection, after, () => read(after, known))
      if (events === 'gone' || events.length === 0) return connections.end(connection, 'gone')
      if (connection.isEnded) return
      after = send(connection, events, fanOut.position())
      await written(connection)
    }
  }

  /** The next events, with what is needed to judge them. */
  async function read(after: number, known: PositionedEvent[] | null) {
    const events = known ?? (await feed().read(after, pageEvents))
    if (events !== 'gone') await entitlement.load(events)
    return events
  }

  /** Writes what is the client's of these events, up to where live delivery has come; returns how far that was. */
  function send(connection: Connection, events: PositionedEvent[], until: number): number {
    const { epoch } = feed()
    const frames: Buffer[] = []
    let last = events[0]!.pos - 1
    for (const event of events) {
      if (event.pos > until) break
      last = event.pos
      if (event.event === null || !isEntitled(entitlement.judge(event.routing), connection.person)) continue
      frames.push(frameOf(event, epoch))
    }
    // Past the limit for unsent data: a replay waits for its client, so there is never more than this one page.
    if (frames.length > 0) connection.socket.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames))
    return last
  }

  /** Waits while the client is slower than the replay; one that takes nothing for long is cut. */
  async function written(connection: Connection) {
    const { socket } = connection
    while (!connection.isEnded && socket.writableLength > enoughUnsentBytes) {
      if (!(await drained(connection))) connections.end(connection, 'slow')
    }
  }

  return { findStart, replay }
}

/** Whether this position was ever given out: the database knows the newest one of all. */
async function isHistory(db: Database, { epoch, pos }: Cursor): Promise<boolean> {
  const lease = await db.selectFrom('relayLease').select(['epoch', 'pos']).executeTakeFirst()
  return lease?.epoch === epoch && pos <= lease.pos
}

function leaving({ socket }: Connection): AbortSignal {
  const leave = new AbortController()
  if (socket.destroyed) leave.abort()
  else socket.once('close', () => leave.abort())
  return leave.signal
}

function drained({ socket }: Connection): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(resolve, patienceMs, false)
  const done = () => resolve(true)
  socket.once('drain', done)
  socket.once('close', done)
  return promise.finally(() => {
    clearTimeout(timer)
    socket.off('drain', done)
    socket.off('close', done)
  })
}
