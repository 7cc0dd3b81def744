import type { Database, SearchProgress, Transaction } from '@parley/database'
import { listMessageIdsBelow, readChanges } from '@parley/search'
import type { Selectable } from 'kysely'
import { endOfIds, findRelayed, lockProgress, project, updateProgress } from './projection.queries.ts'

export interface ProjectionSizes {
  /** Events, or messages of the past, in one transaction. */
  atOnce: number
  /** Messages in a segment of the index. */
  segmentSize: number
}

/** Measured: smaller segments make rare words slower, larger ones frequent words. */
const projectionSizes: ProjectionSizes = { atOnce: 500, segmentSize: 32_768 }

export interface Projected {
  /** Whether there may be more to do at once. */
  more: boolean
  /** How many messages were brought up to date. */
  messages: number
  /** Events that are left. */
  behind: number
}

/** The result of a step that found nothing to do. */
export const nothingDone: Projected = { more: false, messages: 0, behind: 0 }

/**
 * One step of the projection that search reads. It takes over what the next events have changed, and, until all old
 * messages were read, some of these. It follows the positions of the events, which have no gaps, so it skips no event,
 * however late that is committed. A step is one transaction, so the progress and the copies always agree. Any number of
 * workers may call it; one at a time does the work.
 */
export function projectNext(db: Database, sizes: ProjectionSizes = projectionSizes): Promise<Projected> {
  return db.transaction().execute(async (trx) => {
    const progress = await lockProgress(trx)
    if (!progress) return nothingDone
    const relayed = await findRelayed(trx)
    const changes = await readChanges(trx, progress.pos, sizes.atOnce)
    if (changes === 'gone' || (changes.count === 0 && changes.pos < relayed.pos)) return startAnew(trx, relayed)

    await project(trx, changes.messageIds, sizes.segmentSize)
    const past = changes.count < sizes.atOnce ? await projectPast(trx, progress.unreadBelow, sizes) : []

    const { pos } = changes
    const mark = markOf(progress, pos, relayed)
    if (pos !== progress.pos || mark.seenId !== progress.seenId) await updateProgress(trx, { pos, ...mark })
    const behind = relayed.pos - pos
    return { more: behind > 0 || past.length > 0, messages: changes.messageIds.length + past.length, behind }
  })
}

/**
 * The outbox id up to which everything is in the projection. The relay's `lowId` is true once the projection has
 * followed all positions that were given by then. While the projection is behind, the pair is kept until it has got
 * there.
 */
function markOf(progress: Progress, pos: number, relayed: Relayed) {
  const { seenId, nextSeenId, nextPos } = progress
  if (pos >= relayed.pos) return { seenId: relayed.lowId, nextSeenId: relayed.lowId, nextPos: relayed.pos }
  if (pos >= nextPos) return { seenId: nextSeenId, nextSeenId: relayed.lowId, nextPos: relayed.pos }
  return { seenId, nextSeenId, nextPos }
}

type Progress = Selectable<SearchProgress>
type Relayed = Awaited<ReturnType<typeof findRelayed>>

/** Reads the newest messages that were never read, newest first, because people search for recent messages most. */
async function projectPast(trx: Transaction, unreadBelow: string | null, { atOnce, segmentSize }: ProjectionSizes) {
  if (unreadBelow === null) return []
  const ids = await listMessageIdsBelow(trx, unreadBelow, atOnce)
  await project(trx, ids, segmentSize)
  await updateProgress(trx, { unreadBelow: ids.at(-1) ?? null })
  return ids
}

/**
 * Events were deleted from the outbox before they were read. Their changes are committed: so the projection follows the
 * events from here on, and reads all messages anew.
 */
async function startAnew(trx: Transaction, { pos, lowId }: Relayed): Promise<Projected> {
  await updateProgress(trx, { pos, seenId: lowId, nextSeenId: lowId, nextPos: pos, unreadBelow: endOfIds })
  return { more: true, messages: 0, behind: 0 }
}
