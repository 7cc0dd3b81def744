import { randomBytes } from 'node:crypto'
import type { Pool } from './positions.queries.ts'
import type { LowWater } from './progress.ts'

/** How long a leader is believed after its last sign of life, by the clock of PostgreSQL. */
export const leaseMs = 3_000

/** One turn as the leader. The token is in every write of the turn, so that nothing is written after it. */
export interface Term {
  token: number
  /** Where the lease row lies: found at once, however many old versions of it a long snapshot keeps alive. */
  ctid: string
  epoch: string
  /** It began with this term, because PostgreSQL is not the one it was. */
  isNewEpoch: boolean
  pos: number
  low: LowWater
  /** Outbox ids above `low` that have a position already. */
  positioned: number[]
}

/** As many hexadecimal digits as a new epoch needs to be unlike any other. */
export const newEpoch = () => randomBytes(6).toString('hex')

/**
 * Takes the lease when nobody holds it (or the same holder does, whose earlier turn ends with this), else undefined. One that
 * says to last longer than any lease was taken before the clock was set back: its holder may be long gone.
 *
 * PostgreSQL may have been promoted or restored since, and may lack what was given out: positions would mean two things. So
 * another history of the database begins a new epoch, with the lease and before any position is given. (Only a copy of
 * the data directory put back as it was looks the same as before; Redis being ahead tells then, see `relay.stream.ts`.)
 */
export async function acquireLease(pool: Pool, holder: string): Promise<Term | undefined> {
  const epochOfAnother = newEpoch()
  const { rows } = await pool.query<LeaseRow>(
    `update relay_lease set token = token + 1, holder = $1, expires_at = now_ms() + $2,
       epoch = case when history <> database_history() then $3 else epoch end,
       history = coalesce(database_history(), history)
     where expires_at not between now_ms() and now_ms() + $2 or holder = $1
     returning token, ctid::text, epoch, pos, low_id, low_pos`,
    [holder, leaseMs, epochOfAnother],
  )
  const lease = rows[0]
  if (!lease) return undefined

  // A statement of its own: the last batch of the leader before is committed by now, and only now surely visible.
  const { rows: batches } = await pool.query<{ outbox_ids: number[] }>(
    'select outbox_ids from event_positions where last_pos > $1',
    [lease.low_pos],
  )
  const positioned = batches.flatMap(({ outbox_ids }) => outbox_ids.filter((id) => id > lease.low_id))
  const { token, ctid, epoch, pos, low_id, low_pos } = lease
  const isNewEpoch = epoch === epochOfAnother
  return { token, ctid, epoch, isNewEpoch, pos, low: { id: low_id, pos: low_pos }, positioned }
}

interface LeaseRow {
  token: number
  ctid: string
  epoch: string
  pos: number
  low_id: number
  low_pos: number
}

/** Gives the lease back at once, with what was settled. Does nothing when somebody else has taken it. */
export async function releaseLease(pool: Pool, token: number, low: LowWater): Promise<void> {
  await pool.query('update relay_lease set holder = null, expires_at = 0, low_id = $2, low_pos = $3 where token = $1', [
    token,
    low.id,
    low.pos,
  ])
}

/** Begins a new epoch: cursors of the old one are unknown from now on. Answers whether the token was still good. */
export async function changeEpoch(pool: Pool, token: number, epoch: string): Promise<boolean> {
  const { rowCount } = await pool.query('update relay_lease set epoch = $2 where token = $1', [token, epoch])
  return rowCount === 1
}
