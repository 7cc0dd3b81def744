import type { Message } from '@parley/contract'
import type { KnownHeights } from './list-window.ts'
import type { Row } from './rows.ts'

/** So many of a workspace are kept: some thirty channels with the messages that were in sight. */
const mostKept = 2_000
/** What a page of 800 pixels leaves to its list. */
const usualWindowPx = 600

/** They go when the workspace ends. */
const heightsOf = new WeakMap<object, KnownHeights>()

/** The heights of rows that the lists of this workspace have drawn. */
export function knownHeights(workspace: object): KnownHeights {
  const known = heightsOf.get(workspace) ?? { rows: new Map(), window: usualWindowPx }
  heightsOf.set(workspace, known)
  return known
}

/** Forgets those that were drawn long ago. */
export function trimHeights({ rows }: KnownHeights) {
  for (const key of rows.keys()) {
    if (rows.size <= mostKept) break
    rows.delete(key)
  }
}

const linePx = 22
const charactersInLine = 110
const paddingPx = 4
const headPx = 32
const imagePx = 240
const lineRowPx = 32

/** The probable height of a row, so that the scrollbar tells the truth before the row was drawn. */
export function estimateHeight(row: Row): number {
  if (row.kind === 'day' || row.kind === 'unread') return lineRowPx
  if (row.kind === 'pending') return paddingPx + headPx + linePx * 2
  const { message, isHead } = row
  return paddingPx + (isHead ? headPx : 0) + textPx(message) + (message.images.length > 0 ? imagePx : 0)
}

const textPx = ({ content }: Message) => linePx * Math.max(1, Math.ceil(content.length / charactersInLine))
