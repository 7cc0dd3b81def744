/** A place in the total order of events. Opaque to clients: they hand back what an `id:` line gave them. */
export interface Cursor {
  epoch: string
  pos: number
}

const form = /^([0-9A-Za-z-]{1,64})\.(0|[1-9][0-9]{0,15})$/

export const writeCursor = ({ epoch, pos }: Cursor) => `${epoch}.${pos}`

/** The cursor a client handed back, null when it is none of ours. */
export function readCursor(text: string | undefined): Cursor | null {
  const [, epoch, pos] = form.exec(text ?? '') ?? []
  return epoch && pos && Number.isSafeInteger(Number(pos)) ? { epoch, pos: Number(pos) } : null
}
