import type { Unanswered } from './send-outcomes.ts'
import type { Sending } from './sending.ts'

/** The sends to one channel, in the order in which they came. */
interface ChannelQueue {
  readonly channelId: string | null
  waiting: Sending[]
  /** Another transaction holds the channel's lock. The sends get a separate statement, which waits for the lock. */
  contended: boolean
}

/** The sends of one statement, and the queues from which they were taken. */
export interface TakenSends {
  queues: readonly ChannelQueue[]
  batch: readonly Sending[]
}

interface ChannelQueues {
  /** The number of waiting sends. Taken sends are not counted. */
  readonly size: number
  readonly hasReady: boolean
  readonly hasContended: boolean
  add(sending: Sending): void
  /** Takes at most `limit` sends for the next statement. No more sends of their channels are taken before `release`. */
  take(limit: number): TakenSends
  /** Like `take`, for one contended channel. */
  takeContended(limit: number): TakenSends
  /** Makes these channels ready for the next statement. Sends that must be retried come before those that came later. */
  release(queues: readonly ChannelQueue[], again: readonly Unanswered[]): void
  /** Makes contended channels ready again. */
  retryContended(): void
  /** Drops the waiting sends for which `keep` returns false. */
  retain(keep: (sending: Sending) => boolean): void
}

/**
 * The sends that wait in this process, in one queue per channel. A channel is in one statement at a time, because two statements
 * would only wait for each other. Channels take turns, so that a busy channel does not starve the others.
 */
export function createChannelQueues(): ChannelQueues {
  const queues = new Map<string | null, ChannelQueue>()
  let ready: ChannelQueue[] = []
  let contended: ChannelQueue[] = []
  let size = 0

  const enlist = (queue: ChannelQueue) => (queue.contended ? contended : ready).push(queue)

  function move(queue: ChannelQueue, limit: number, batch: Sending[]) {
    const moved = queue.waiting.splice(0, limit)
    size -= moved.length
    for (const sending of moved) batch.push(sending)
  }

  return {
    get size() {
      return size
    },
    get hasReady() {
      return ready.length > 0
    },
    get hasContended() {
      return contended.length > 0
    },
    add(sending) {
      size++
      const known = queues.get(sending.channelId)
      if (known) {
        known.waiting.push(sending)
        return
      }
      const queue = { channelId: sending.channelId, waiting: [sending], contended: false }
      queues.set(queue.channelId, queue)
      ready.push(queue)
    },
    take(limit) {
      const share = ready.length === 1 ? limit : Math.ceil(limit / 4)
      const batch: Sending[] = []
      let turns = 0
      while (turns < ready.length && batch.length < limit) {
        move(ready[turns]!, Math.min(share, limit - batch.length), batch)
        turns++
      }
      return { queues: ready.splice(0, turns), batch }
    },
    takeContended(limit) {
      const batch: Sending[] = []
      const queue = contended.shift()!
      move(queue, limit, batch)
      return { queues: [queue], batch }
    },
    release(taken, again) {
      if (again.length > 0) putBack(again)
      for (const queue of taken) {
        if (queue.waiting.length > 0) enlist(queue)
        else queues.delete(queue.channelId)
      }
    },
    retryContended() {
      for (const queue of contended) queue.contended = false
      ready = ready.concat(contended)
      contended = []
    },
    retain(keep) {
      if (size === 0) return
      for (const queue of queues.values()) {
        const kept = queue.waiting.filter(keep)
        size -= queue.waiting.length - kept.length
        queue.waiting = kept
      }
    },
  }

  function putBack(again: readonly Unanswered[]) {
    for (const [channelId, own] of Map.groupBy(again, ({ sending }) => sending.channelId)) {
      const queue = queues.get(channelId)!
      queue.waiting.unshift(...own.map(({ sending }) => sending))
      size += own.length
      if (own.some(({ outcome }) => outcome === 'busy')) queue.contended = true
    }
  }
}
