import type { Database, SearchProgress, Transaction } from '@parley/database'
import { listMessageIdsBelow, readChanges } from '@parley/search'
import type { Selectable } from 'kysely'
import { endOfIds, findRelayed, lockProgress, project, updateProgress } from './projection.queries.ts'

interface ProjectionSizes {
  /** Events, or old messages, in one transaction. */
  batchSize: number
  /** Messages in a segment of the index. */
  segmentSize: number
}

/**
 * The usual sizes, by measurement: smaller segments make searches for rare words slower, larger ones those for frequent words.
 */
export const projectionSizes: ProjectionSizes = { batchSize: 500, segmentSize: 32_768 }

export interface Projected {
  /** Whether there may be more to do at once. */
  more: boolean
  /** Number of updated messages. */
  messages: number
  /** Number of remaining events. */
  behind: number
}

/** The result of a step that found nothing to do. */
export const nothingDone: Projected = { more: false, messages: 0, behind: 0 }

/**
 * One step of the search projection. It applies the changes of the next events, and reads some old messages until all
 * of them were read. It follows the positions of the events, which have no gaps, so it skips no event, however late the
 * event is committed. A step is one transaction, so the progress and the copies always agree. Any number of workers may
 * call it. One at a time does the work.
 */
export function projectNext(db: Database, sizes: ProjectionSizes): Promise<Projected> {
  return db.transaction().execute(async (trx) => {
    const progress = await lockProgress(trx)
    if (!progress) return nothingDone
    const relayed = await findRelayed(trx)
    const changes = await readChanges(trx, progress.pos, sizes.batchSize)
    if (changes === 'gone' || (changes.count === 0 && changes.pos < relayed.pos)) return startAgain(trx, relayed)

    await project(trx, changes.messageIds, sizes.segmentSize)
    const past = changes.count < sizes.batchSize ? await projectPast(trx, progress.unreadBelow, sizes) : []

    const { pos } = changes
    const mark = markOf(progress, pos, relayed)
    if (pos !== progress.pos || mark.seenId !== progress.seenId) await updateProgress(trx, { pos, ...mark })
    const behind = relayed.pos - pos
    return { more: behind > 0 || past.length > 0, messages: changes.messageIds.length + past.length, behind }
  })
}

/**
 * The outbox id up to which everything is in the projection. The relay's `lowId` holds for the projection once that has
 * followed all positions that were assigned at that time. While the projection is behind, the pair is stored until it
 * has reached them.
 */
function markOf(progress: Progress, pos: number, relayed: Relayed) {
  const { seenId, nextSeenId, nextPos } = progress
  if (pos >= relayed.pos) return { seenId: relayed.lowId, nextSeenId: relayed.lowId, nextPos: relayed.pos }
  if (pos >= nextPos) return { seenId: nextSeenId, nextSeenId: relayed.lowId, nextPos: relayed.pos }
  return { seenId, nextSeenId, nextPos }
}

type Progress = Selectable<SearchProgress>
type Relayed = Awaited<ReturnType<typeof findRelayed>>

/** Reads some of the messages that were never read, newest first, because people search for recent messages most. */
async function projectPast(trx: Transaction, unreadBelow: string | null, { batchSize, segmentSize }: ProjectionSizes) {
  if (unreadBelow === null) return []
  const ids = await listMessageIdsBelow(trx, unreadBelow, batchSize)
  await project(trx, ids, segmentSize)
  await updateProgress(trx, { unreadBelow: ids.at(-1) ?? null })
  return ids
}

/**
 * Events were deleted from the outbox before they were read, but their changes are committed. So the projection follows
 * the events from the present position on, and reads all messages again.
 */
async function startAgain(trx: Transaction, { pos, lowId }: Relayed): Promise<Projected> {
  await updateProgress(trx, { pos, seenId: lowId, nextSeenId: lowId, nextPos: pos, unreadBelow: endOfIds })
  return { more: true, messages: 0, behind: 0 }
}
