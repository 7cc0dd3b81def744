import { ApiError } from '@parley/contract'
import { type Database, isRowId, type Transaction } from '@parley/database'
import { type Caller, createSharedCallers } from '@parley/identity'
import { joinChannel, joinChannelTogether } from '@parley/membership'
import type { Logger } from '@parley/telemetry'
import { sql } from 'kysely'
import type { Sending } from './sending.ts'

/*
 * A person who posts to a public channel joins it. The outcome of the shared statement is `unjoined` for authors who are not
 * members, and `createJoining` makes them members before the next try. Other transactions call `joinToPost`.
 */

interface JoiningOptions {
  db: Database
  logger: Logger
  /** Epoch milliseconds. */
  clock: () => number
  /** The number of channels that people may join at the same time. */
  maxChannels: number
  /** Called with the sends of a person who has joined, or who may post without joining because joining failed. */
  sendAgain: (sends: readonly Sending[]) => void
}

export interface Joining {
  /** The number of waiting sends. */
  readonly size: number
  /** Makes the authors of these sends members of their channels. */
  add(sends: readonly Sending[]): void
  /** Sends the messages that have waited for half of their time. Their authors do not join, so that the messages are still stored. */
  releaseLate(): void
}

/** The number of people who join in one transaction. One event contains the ids of all of them, so they must not be too many. */
const maxTogether = 100

/** The sends of one channel, by their authors. */
type SendsByAuthor = Map<string, Sending[]>

/**
 * Makes authors members before their sends are stored. All authors who wait for one channel join it together in one transaction, because
 * each transaction needs its lock. When that fails, they join one by one, so that only those whose joining failed stay outside. Channels
 * take turns.
 */
export function createJoining({ db, logger, clock, maxChannels, sendAgain }: JoiningOptions): Joining {
  const waiting = new Map<string, SendsByAuthor>()
  const running = new Set<string>()
  /** Channels whose authors join one by one, until none of them waits any more. */
  const oneByOne = new Set<string>()
  const callers = createSharedCallers(db, clock)
  let size = 0

  async function joinNext(channelId: string, taken: SendsByAuthor) {
    const again = await join(channelId, taken)
    if (again) sendAgain(again)
    running.delete(channelId)
    if (!waiting.has(channelId)) oneByOne.delete(channelId)
    pump()
  }

  /** Returns the sends that no longer wait. When several authors could not join together, none does, and they wait for their turns. */
  async function join(channelId: string, authors: SendsByAuthor): Promise<Sending[] | undefined> {
    let members = new Set<string>()
    try {
      members = await makeMembers(channelId, authors)
    } catch (err) {
      if (authors.size > 1) {
        oneByOne.add(channelId)
        putBack(channelId, authors)
        return undefined
      }
      logFailure(logger, err)
    }
    return [...authors].flatMap(([userId, sends]) => (members.has(userId) ? sends : sends.map(withoutJoining)))
  }

  function pump() {
    for (const [channelId, authors] of waiting) {
      if (running.size >= maxChannels) return
      if (running.has(channelId)) continue
      running.add(channelId)
      // Moves the channel to the end, so that channels take turns.
      waiting.delete(channelId)
      const taken = new Map(authors.entries().take(oneByOne.has(channelId) ? 1 : maxTogether))
      for (const [userId, sends] of taken) {
        authors.delete(userId)
        size -= sends.length
      }
      if (authors.size > 0) waiting.set(channelId, authors)
      void joinNext(channelId, taken)
    }
  }

  /** Returns the ids of the authors who are members now. @throws when nobody has joined. */
  async function makeMembers(channelId: string, authors: SendsByAuthor): Promise<Set<string>> {
    const now = clock()
    const firsts = [...authors.values()].map(([first]) => first!)
    const remaining = Math.min(...firsts.map(({ deadline }) => deadline)) - now
    // Half of the remaining time, so that the message can still be stored. Half of that for several, so that each can still join alone.
    const lockTimeoutMs = Math.max(1, Math.floor(remaining / (authors.size > 1 ? 4 : 2)))
    const found = await Promise.allSettled(firsts.map(({ userId, sessionId }) => callers.find({ userId, sessionId })))
    const userIds = found.flatMap((each) => (each.status === 'fulfilled' ? [each.value.userId] : []))
    if (userIds.length === 0) throw (found[0] as PromiseRejectedResult).reason
    return db.transaction().execute(async (trx) => {
      await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(trx)
      return joinChannelTogether(trx, { userIds, now }, channelId)
    })
  }

  /** The sends come before those of the same authors that came meanwhile. */
  function putBack(channelId: string, taken: SendsByAuthor) {
    for (const sends of taken.values()) size += sends.length
    const later = waiting.get(channelId) ?? new Map<string, Sending[]>()
    for (const [userId, sends] of later) taken.set(userId, [...(taken.get(userId) ?? []), ...sends])
    waiting.set(channelId, taken)
  }

  return {
    get size() {
      return size
    },
    add(sends) {
      for (const sending of sends) {
        const authors = waiting.get(sending.channelId!) ?? new Map<string, Sending[]>()
        waiting.set(sending.channelId!, authors)
        authors.set(sending.userId, [...(authors.get(sending.userId) ?? []), sending])
      }
      size += sends.length
      pump()
    },
    releaseLate() {
      const now = clock()
      const late: Sending[] = []
      for (const [channelId, authors] of waiting) {
        for (const [userId, sends] of authors) {
          // The sends of one person are in the order in which they came, so the late ones are at the beginning.
          const firstInTime = sends.findIndex((sending) => now < halfTimeOf(sending))
          const kept = firstInTime < 0 ? [] : sends.slice(firstInTime)
          late.push(...sends.slice(0, sends.length - kept.length))
          if (kept.length > 0) authors.set(userId, kept)
          else authors.delete(userId)
        }
        if (authors.size === 0) waiting.delete(channelId)
      }
      if (late.length === 0) return
      size -= late.length
      sendAgain(late.map(withoutJoining))
    },
  }
}

const withoutJoining = (sending: Sending): Sending => ({ ...sending, staysOutside: true })

const halfTimeOf = ({ createdAt, deadline }: Sending) => (createdAt + deadline) / 2

/**
 * Makes the caller a member of the channel in which they are about to post or reply, if it is public and they are not a member yet.
 * When joining fails, they post without being a member. The transaction must not hold a channel's lock.
 */
export async function joinToPost(
  trx: Transaction,
  { logger, caller, now }: { logger: Logger; caller: Caller; now: number },
  target: { channelId: string } | { parentId: string },
): Promise<void> {
  const rowId = 'channelId' in target ? target.channelId : target.parentId
  if (!isRowId(rowId)) return
  const channelId = 'channelId' in target ? sql`${rowId}` : sql`(select channel_id from messages where id = ${rowId})`
  const { rows } = await sql<{ id: string }>`
    select c.id from channels c
    where c.id = ${channelId} and c.kind = 'public' and c.deleted_at is null and not exists (
      select from channel_members m where m.channel_id = c.id and m.user_id = ${caller.userId} offset 0)`.execute(trx)
  if (!rows[0]) return

  await sql`savepoint joining`.execute(trx)
  try {
    await joinChannel(trx, { caller, now }, rows[0].id)
  } catch (err) {
    await sql`rollback to savepoint joining`.execute(trx)
    logFailure(logger, err)
  }
}

/** A refusal is not logged, because the send itself is refused for the same reason. */
function logFailure(logger: Logger, err: unknown) {
  if (!(err instanceof ApiError)) logger.warn({ err }, 'an author could not join the channel')
}
