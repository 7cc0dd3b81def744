import { invalid } from '@parley/contract'

/** A place in the order of all events. For clients it is opaque: they send back the text of an `id:` line. */
export interface Cursor {
  epoch: string
  pos: number
}

const form = /^([0-9A-Za-z-]{1,64})\.(0|[1-9][0-9]{0,15})$/

export const writeCursor = ({ epoch, pos }: Cursor) => `${epoch}.${pos}`

/** The cursor that a client sent back, null when it is malformed. */
export function readCursor(text: string | undefined): Cursor | null {
  const [, epoch, pos] = form.exec(text ?? '') ?? []
  return epoch && pos && Number.isSafeInteger(Number(pos)) ? { epoch, pos: Number(pos) } : null
}

/** The cursor that a client sent back. @throws ApiError 400 unless it is of the epoch of `newest`, and not after it. */
export function requireCursor(text: string, newest: Cursor): Cursor {
  const cursor = readCursor(text)
  if (cursor?.epoch !== newest.epoch || cursor.pos > newest.pos)
    throw invalid('cursor must be the id of an event that this server sent after its database was last restored')
  return cursor
}
