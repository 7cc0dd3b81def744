import { ApiError } from '@parley/contract'
import { type Database, isRowId, type Transaction } from '@parley/database'
import { type Caller, findCaller } from '@parley/identity'
import { joinChannel } from '@parley/membership'
import type { Logger } from '@parley/telemetry'
import { sql } from 'kysely'
import type { Sending } from './send-statement.ts'

/*
 * A person who posts to a public channel joins it. The outcome of the shared statement is `unjoined` for authors who are not
 * members, and `createJoining` makes them members before the next try. Other transactions call `joinToPost`.
 */

export interface JoiningOptions {
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

/**
 * Makes authors members before their sends are stored. The authors of one channel join one after the other, because each of them needs
 * its lock. Channels take turns.
 */
export function createJoining({ db, logger, clock, maxChannels, sendAgain }: JoiningOptions): Joining {
  /** By channel, then by person. */
  const waiting = new Map<string, Map<string, Sending[]>>()
  const running = new Set<string>()
  let size = 0

  async function joinNext(channelId: string, people: Map<string, Sending[]>) {
    const [userId, sends] = people.entries().next().value!
    people.delete(userId)
    size -= sends.length
    const hasJoined = await join(sends[0]!)
    sendAgain(hasJoined ? sends : sends.map((sending) => ({ ...sending, staysOutside: true })))
    running.delete(channelId)
    pump()
  }

  function pump() {
    for (const [channelId, people] of waiting) {
      if (running.size >= maxChannels) return
      if (running.has(channelId)) continue
      running.add(channelId)
      // Moves the channel to the end, so that channels take turns.
      waiting.delete(channelId)
      if (people.size > 1) waiting.set(channelId, people)
      void joinNext(channelId, people)
    }
  }

  /** Returns whether the author has joined. A failure only means that the message is stored without joining. */
  async function join({ userId, sessionId, channelId, deadline }: Sending): Promise<boolean> {
    try {
      const now = clock()
      // Half of the remaining time, so that the message can still be stored.
      const lockTimeoutMs = Math.max(1, Math.floor((deadline - now) / 2))
      const caller = await findCaller(db, { userId, sessionId }, now)
      await db.transaction().execute(async (trx) => {
        await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(trx)
        await joinChannel(trx, { caller, now }, channelId!)
      })
      return true
    } catch (err) {
      logFailure(logger, err)
      return false
    }
  }

  return {
    get size() {
      return size
    },
    add(sends) {
      for (const sending of sends) {
        const people = waiting.get(sending.channelId!) ?? new Map<string, Sending[]>()
        waiting.set(sending.channelId!, people)
        people.set(sending.userId, [...(people.get(sending.userId) ?? []), sending])
      }
      size += sends.length
      pump()
    },
    releaseLate() {
      const now = clock()
      const late: Sending[] = []
      for (const [channelId, people] of waiting) {
        for (const [userId, sends] of people) {
          // The sends of one person are in the order in which they came, so the late ones are at the beginning.
          const firstInTime = sends.findIndex((sending) => now < halfTimeOf(sending))
          const kept = firstInTime < 0 ? [] : sends.slice(firstInTime)
          late.push(...sends.slice(0, sends.length - kept.length))
          if (kept.length > 0) people.set(userId, kept)
          else people.delete(userId)
        }
        if (people.size === 0) waiting.delete(channelId)
      }
      if (late.length === 0) return
      size -= late.length
      sendAgain(late.map((sending) => ({ ...sending, staysOutside: true })))
    },
  }
}

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
