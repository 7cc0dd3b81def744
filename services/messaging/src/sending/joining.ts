import { ApiError } from '@parley/contract'
import { type Database, isRowId, type Transaction } from '@parley/database'
import { type Caller, findCaller } from '@parley/identity'
import { joinChannel } from '@parley/membership'
import type { Logger } from '@parley/telemetry'
import { sql } from 'kysely'
import type { Sending } from './send-statement.ts'

/*
 * A person who posts to a public channel joins it. The shared statement answers `unjoined` for authors who are no members,
 * and `createJoining` makes them members before the next try. Other transactions call `joinToPost`.
 */

export interface JoiningOptions {
  db: Database
  logger: Logger
  /** Epoch milliseconds. */
  clock: () => number
  /** For how many channels people join at the same time. */
  mostChannels: number
  /** Takes the sends of a person who has joined, or of one who may stay outside because joining failed. */
  sendAgain: (sends: readonly Sending[]) => void
}

export interface Joining {
  /** How many sends wait. */
  readonly size: number
  /** Lets the authors of these sends join their channels. */
  add(sends: readonly Sending[]): void
  /** Sends again what has waited for half of its time. The authors do not join, so that the messages are still stored. */
  releaseLate(): void
}

/**
 * The people who join before their sends are stored. Those of one channel join one after the other, because each needs its
 * lock. Channels take turns.
 */
export function createJoining({ db, logger, clock, mostChannels, sendAgain }: JoiningOptions): Joining {
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
      if (running.size >= mostChannels) return
      if (running.has(channelId)) continue
      running.add(channelId)
      // To the end of the line.
      waiting.delete(channelId)
      if (people.size > 1) waiting.set(channelId, people)
      void joinNext(channelId, people)
    }
  }

  /** Answers whether it worked. A send never fails because its author could not join. */
  async function join({ userId, sessionId, channelId, deadline }: Sending): Promise<boolean> {
    try {
      const now = clock()
      // Half of the time that is left, so that the message can still be stored.
      const lockTimeoutMs = Math.max(1, Math.floor((deadline - now) / 2))
      const caller = await findCaller(db, { userId, sessionId }, now)
      await db.transaction().execute(async (trx) => {
        await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(trx)
        await joinChannel(trx, { caller, now }, channelId!)
      })
      return true
    } catch (err) {
      noteFailure(logger, err)
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
          // Sends of one person wait in the order in which they came, so the late ones are the first.
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
 * Makes the caller a member of the channel to which they are about to post or reply, if it is public and they are no
 * member. When joining fails, they post as a non-member. Hold no channel's lock when you call it.
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
    noteFailure(logger, err)
  }
}

/** A refusal is not noted: the send will be refused for the same reason. */
function noteFailure(logger: Logger, err: unknown) {
  if (!(err instanceof ApiError)) logger.warn({ err }, 'an author could not join the channel')
}
