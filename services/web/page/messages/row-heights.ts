import type { Message } from '@parley/contract'
import type { KnownHeights } from './list-window.ts'
import { shownLength } from './long-text.tsx'
import type { Row } from './rows.ts'

/** The number of kept heights of a workspace: the visible messages of about thirty channels. */
const maxKept = 2_000
/** The height of the viewport of the list when the page is 800 pixels high. */
const usualViewportPx = 600

/** The heights of a workspace are removed together with it. */
const heightsOf = new WeakMap<object, KnownHeights>()

/** The heights of the rows that the lists of this workspace have rendered. */
export function knownHeights(workspace: object): KnownHeights {
  const known = heightsOf.get(workspace) ?? { rows: new Map(), viewport: usualViewportPx }
  heightsOf.set(workspace, known)
  return known
}

/** Forgets the oldest heights when there are too many. */
export function trimHeights({ rows }: KnownHeights) {
  for (const key of rows.keys()) {
    if (rows.size <= maxKept) break
    rows.delete(key)
  }
}

const linePx = 22
const charactersInLine = 110
const paddingPx = 4
const headPx = 32
const imagePx = 240
const lineRowPx = 32

/** The estimated height of a row, so that the scrollbar is nearly right before the row was rendered. */
export function estimateHeight(row: Row): number {
  if (row.kind === 'day' || row.kind === 'unread') return lineRowPx
  if (row.kind === 'pending') return paddingPx + (row.isHead ? headPx : 0) + linePx
  const { message, isHead } = row
  return paddingPx + (isHead ? headPx : 0) + textPx(message) + (message.images.length > 0 ? imagePx : 0)
}

const textPx = ({ content }: Message) => linePx * Math.max(1, Math.ceil(shownLength(content) / charactersInLine))
