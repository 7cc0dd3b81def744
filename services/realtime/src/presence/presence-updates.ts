import type { Connection as DatabaseConnection } from '@parley/database'
import { findPresenceChanges, type PresenceChange } from '@parley/presence'
import { createFailureLog, type Logger, type Metrics, metric } from '@parley/telemetry'
import type { OpenStreams } from '../streams/open-streams.ts'
import type { SleepWatch } from '../streams/sleep-watch.ts'

interface PresenceParts {
  pool: DatabaseConnection['pool']
  streams: OpenStreams
  sleep: Pick<SleepWatch, 'isAwake'>
  /** The largest number of updates that one stream gets in a second. */
  presencePerSecond: number
  logger: Logger
  metrics: Metrics
}

const periodMs = 500
/** The largest number of updates written in a second, for all streams together. The others wait. */
const updatesPerSecond = 400_000
/** The largest number of writes in a second. With many streams each gets updates less often, but about more people at a time. */
const writesPerSecond = 5_000

/** One round sends the updates of this number of periods at most. */
const maxPeriods = 4
/** Time between two rounds while clients reconnect all at once, because opening their streams comes first. */
const longestWaitMs = 10_000

/**
 * Sends presence updates to the open streams. It queries PostgreSQL twice a second. A stream gets one write per round,
 * about a limited number of people. Slow streams are skipped until they catch up, and then get the current state.
 */
export function createPresenceUpdates({ pool, streams, sleep, presencePerSecond, logger, metrics }: PresenceParts) {
  const log = createPresenceLog()
  const updatesSent = metrics.counter(metric.presenceUpdates).with()
  let since: number | undefined
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let sentAt = performance.now()
  let headOfLastRound = 0
  const failures = createFailureLog(logger, 'presence cannot be read')

  async function runRound() {
    try {
      const { changes, next } = await findPresenceChanges(pool, since)
      log.add(changes)
      since = next
      failures.succeeded()
      if (!sleep.isAwake()) return
      const period = Math.max(periodMs, (1_000 * streams.all.size) / writesPerSecond)
      const waitedMs = performance.now() - sentAt
      if (!isRoundDue({ waitedMs, period, isSurging: streams.isSurging() })) return
      // After a long wait a stream gets updates about more people, in a write that is still of moderate size.
      log.forget(sendUpdates(Math.max(period, Math.min(waitedMs, maxPeriods * period))), next)
      sentAt = performance.now()
      headOfLastRound = log.head
    } catch (err) {
      failures.failed(err)
    }
  }

  /**
   * Writes to every stream the updates that it does not have yet. Returns the order up to which all streams have them.
   * A new stream begins where the last round ended.
   */
  function sendUpdates(period: number): number {
    const perSecond = Math.min(presencePerSecond, updatesPerSecond / Math.max(1, streams.all.size))
    const limit = Math.ceil((perSecond * period) / 1_000)
    const parts = new Map<number, Part>()
    let least = log.head
    for (const stream of streams.all) {
      if (stream.presence === 'none') continue
      stream.presence ??= headOfLastRound
      if (stream.presence < log.head && stream.isLive && stream.socket.writableLength === 0) {
        const part = parts.get(stream.presence) ?? log.take(stream.presence, limit)
        parts.set(stream.presence, part)
        stream.presence = part.upTo
        if (part.people > 0) stream.socket.write(part.bytes)
        updatesSent.add(part.people)
      }
      least = Math.min(least, stream.presence)
    }
    return least
  }

  return {
    async start() {
      await runRound()
      timer = setInterval(() => {
        running ??= runRound().finally(() => {
          running = undefined
        })
      }, periodMs)
    },
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}

/** Whether a round is due: once in a period, but only every ten seconds while clients reconnect all at once. */
export const isRoundDue = ({ waitedMs, period, isSurging }: { waitedMs: number; period: number; isSurging: boolean }) =>
  waitedMs >= (isSurging ? longestWaitMs : period - periodMs / 2)

interface Entry {
  order: number
  userId: string
  changedBy: number
  frame: Buffer
}

/** Some updates as one piece of bytes. */
export interface Part {
  bytes: Buffer
  people: number
  /** Order of the last entry in this part. */
  upTo: number
}

/** The presence updates to send, in order. Of each person only the current one counts. */
export function createPresenceLog() {
  const known = new Map<string, Entry>()
  let entries: Entry[] = []
  let head = 0

  return {
    /** The order of the newest entry. */
    get head() {
      return head
    },
    /** Adds changes, which may repeat and be in any order. Known and older ones are ignored. */
    add(changes: readonly PresenceChange[]) {
      for (const { userId, status, lastSeen, changedBy } of changes) {
        if ((known.get(userId)?.changedBy ?? -1) >= changedBy) continue
        const event = { type: 'PRESENCE_UPDATE', payload: { userId, status, lastSeen } }
        const entry = { order: ++head, userId, changedBy, frame: Buffer.from(`data: ${JSON.stringify(event)}\n\n`) }
        known.set(userId, entry)
        entries.push(entry)
      }
    },
    /** The updates of the next `limit` people after an order. */
    take(after: number, limit: number): Part {
      const frames: Buffer[] = []
      let index = firstAfter(entries, after)
      for (; index < entries.length && frames.length < limit; index++) {
        const entry = entries[index]!
        if (known.get(entry.userId) === entry) frames.push(entry.frame)
      }
      const upTo = index < entries.length ? entries[index]!.order - 1 : head
      return { bytes: Buffer.concat(frames), people: frames.length, upTo }
    },
    /** Drops the updates up to an order, which every stream has, except changes of transactions from `since` on, which may be read again. */
    forget(upTo: number, since: number) {
      const isDone = ({ order, changedBy }: Entry) => order <= upTo && changedBy < since
      entries = entries.filter((entry) => {
        const isCurrent = known.get(entry.userId) === entry
        if (isCurrent && !isDone(entry)) return true
        if (isCurrent) known.delete(entry.userId)
        return false
      })
    },
  }
}

function firstAfter(entries: readonly Entry[], order: number): number {
  let [low, high] = [0, entries.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (entries[middle]!.order > order) high = middle
    else low = middle + 1
  }
  return low
}
